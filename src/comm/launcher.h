// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

namespace riesz {

/// This process's rank in the job, as the launcher's environment says it (Open MPI, MPICH, PMIx under Slurm);
/// nothing where no launcher has started this process. Local; for what is said before MPI starts.
std::optional<int> launched_rank();

/// The MPI library that this process is linked to, such as "Open MPI v4.1.4". Local; may be called before MPI
/// starts.
std::string mpi_library();

}  // namespace riesz
