// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/transports/mpi_check.h"

#include <string>

#include "riesz/comm/error.h"

namespace riesz {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw_error(concat(call, " failed: ", std::string(text, static_cast<std::size_t>(length))));
}

}  // namespace riesz
