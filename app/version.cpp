// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/version.h"

#include <torch/headeronly/version.h>

#include "riesz/comm/start/launcher.h"

namespace riesz::app {

std::string version_text() {
  const std::string commit = kCommit;
  return std::string("riesz ") + kVersion + (commit.empty() ? "" : " (commit " + commit + ")") +
         "\nLibTorch " + TORCH_VERSION + "\nMPI " + mpi_library() +
         "\ntransports: shared memory on one host, MPI between hosts; devices: cpu, and cuda with "
         "libriesz_cuda.so\n";
}

}  // namespace riesz::app
