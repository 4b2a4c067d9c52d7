// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

namespace riesz {

/// Throws `Error` with MPI's own text unless `code` is MPI_SUCCESS. Private to src/comm, like `<mpi.h>`
/// itself.
void check_mpi(int code, const char* call);

}  // namespace riesz

/// Runs an MPI call and checks it; the message names the call as written.
#define RIESZ_MPI(call) ::riesz::check_mpi(call, #call)
