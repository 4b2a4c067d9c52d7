# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# add_mpi_test(): one GoogleTest program, one ctest entry for each number of ranks.

# add_mpi_test(<name>
#   SOURCES file...
#   RANKS k...            one entry <name>.np<k> each
#   [LINK target...]      beside riesz::testing, which brings main()
#   [LABELS label...] [TIMEOUT seconds])
function(add_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;RANKS;LINK;LABELS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES OR NOT arg_RANKS)
    message(FATAL_ERROR "add_mpi_test(${name}): needs SOURCES and RANKS; unknown: [${arg_UNPARSED_ARGUMENTS}]")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE riesz::testing ${arg_LINK} riesz_test_options)
  foreach(ranks IN LISTS arg_RANKS)
    add_test(NAME ${name}.np${ranks}
      COMMAND ${MPIEXEC_EXECUTABLE} ${RIESZ_MPIEXEC_FLAGS} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
        $<TARGET_FILE:${target}>)
    riesz_test_properties(${name}.np${ranks} ${ranks} ${arg_TIMEOUT} "${arg_LABELS}")
  endforeach()
endfunction()

# What every entry shares; it takes as many of ctest's slots as it can keep busy.
function(riesz_test_properties test ranks timeout labels)
  set(processors ${ranks})
  if(processors GREATER 2)
    set(processors 2)
  endif()
  set_tests_properties(${test} PROPERTIES
    PROCESSORS ${processors} TIMEOUT ${timeout} LABELS "${labels}" ENVIRONMENT "${RIESZ_MPI_ENVIRONMENT}")
endfunction()

# Tests are built to compile fast: little optimisation, no debug information in release.
add_library(riesz_test_options INTERFACE)
target_link_libraries(riesz_test_options INTERFACE riesz_warnings)
target_compile_options(riesz_test_options INTERFACE $<$<CONFIG:Release>:-O1>)
