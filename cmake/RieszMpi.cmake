# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI as the targets link it and as the tests launch it.

# The C++ bindings were removed from MPI 3; their headers are slow and full of warnings.
set(MPI_CXX_SKIP_MPICXX TRUE)
find_package(MPI REQUIRED COMPONENTS CXX)

execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version
  OUTPUT_VARIABLE riesz_mpiexec_version ERROR_VARIABLE riesz_mpiexec_version)
set(RIESZ_MPIEXEC_FLAGS)
if(riesz_mpiexec_version MATCHES "Open MPI|OpenRTE|PRRTE|prte")
  set(RIESZ_MPIEXEC_FLAGS -q --oversubscribe --bind-to none)
endif()

# One thread a rank; Open MPI asks root twice, and its single-copy path needs ptrace rights that containers
# often withhold.
set(RIESZ_MPI_ENVIRONMENT
  OMP_NUM_THREADS=1
  OMPI_ALLOW_RUN_AS_ROOT=1
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_btl_vader_single_copy_mechanism=none
  OMPI_MCA_rmaps_base_oversubscribe=1)
