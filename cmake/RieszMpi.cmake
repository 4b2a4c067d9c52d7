# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# The MPI that the targets link, and the launcher that goes with it: <build>/mpirun, made from mpirun.sh.in.

# The C++ bindings were removed from MPI 3; their headers are slow and full of warnings.
set(MPI_CXX_SKIP_MPICXX TRUE)
find_package(MPI REQUIRED COMPONENTS CXX)

execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version
  OUTPUT_VARIABLE riesz_mpiexec_version ERROR_VARIABLE riesz_mpiexec_version)
set(RIESZ_MPIRUN_FLAGS "")
set(RIESZ_MPIRUN_SINGLE_COPY "")
set(RIESZ_MPIRUN_HANDS_ON "")
set(RIESZ_MPIRUN_TELLS OFF)
# The launcher says nothing after this status.
file(STRINGS "${PROJECT_SOURCE_DIR}/src/comm/runtime.h" RIESZ_REPORTED REGEX "kReported = [0-9]+")
string(REGEX REPLACE ".*kReported = ([0-9]+).*" "\\1" RIESZ_REPORTED "${RIESZ_REPORTED}")
if(riesz_mpiexec_version MATCHES "Open MPI|OpenRTE|PRRTE|prte")
  set(RIESZ_OPEN_MPI TRUE)
  set(RIESZ_MPIRUN_FLAGS "--oversubscribe --bind-to none")
  # Up to version 4 its own words can be sent elsewhere than those of ranks; else it is asked for none.
  if(riesz_mpiexec_version MATCHES "(Open MPI|OpenRTE)\\) [34]\\.")
    set(RIESZ_MPIRUN_TELLS ON)
  else()
    string(PREPEND RIESZ_MPIRUN_FLAGS "-q ")
  endif()
  set(RIESZ_MPIRUN_HANDS_ON "OMP_NUM_THREADS \"\${!RIESZ_@}\"")
  try_run(RIESZ_SINGLE_COPY_RESULT RIESZ_SINGLE_COPY_COMPILED "${PROJECT_BINARY_DIR}/single_copy"
    "${CMAKE_CURRENT_LIST_DIR}/single_copy.cpp")
  if(NOT RIESZ_SINGLE_COPY_RESULT EQUAL 0)
    set(RIESZ_MPIRUN_SINGLE_COPY "export OMPI_MCA_btl_vader_single_copy_mechanism=none")
  endif()
endif()
# check_ranks() becomes part of the launcher, which is also installed alone.
set(riesz_ranks_here "${CMAKE_CURRENT_LIST_DIR}/../scripts/ranks_here.sh")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${riesz_ranks_here}")
file(READ "${riesz_ranks_here}" RIESZ_CHECK_RANKS)
string(REGEX REPLACE "^(#[^\n]*\n)+" "" RIESZ_CHECK_RANKS "${RIESZ_CHECK_RANKS}")
set(RIESZ_MPIRUN "${PROJECT_BINARY_DIR}/mpirun")
configure_file("${CMAKE_CURRENT_LIST_DIR}/mpirun.sh.in" "${RIESZ_MPIRUN}" @ONLY
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
