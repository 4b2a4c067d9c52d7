# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# The MPI that the targets link, and the launcher that goes with it: <build>/mpirun, made from mpirun.sh.in.

# The C++ bindings were removed from MPI 3; their headers are slow and full of warnings.
set(MPI_CXX_SKIP_MPICXX TRUE)
find_package(MPI REQUIRED COMPONENTS CXX)

execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version
  OUTPUT_VARIABLE riesz_mpiexec_version ERROR_VARIABLE riesz_mpiexec_version)
set(RIESZ_MPIEXEC_FLAGS_WORDS "")
if(riesz_mpiexec_version MATCHES "Open MPI|OpenRTE|PRRTE|prte")
  set(RIESZ_MPIEXEC_FLAGS_WORDS "-q --oversubscribe --bind-to none")
endif()
set(RIESZ_MPIRUN "${PROJECT_BINARY_DIR}/mpirun")
configure_file("${CMAKE_CURRENT_LIST_DIR}/mpirun.sh.in" "${RIESZ_MPIRUN}" @ONLY
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
