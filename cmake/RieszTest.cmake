# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# How a test is declared: add_mpi_test() for a GoogleTest program on several numbers of ranks,
# add_process_test() for what a whole process prints and returns.

# Tests are built to compile fast: little optimisation and, in release, no debug information.
add_library(riesz_test_options INTERFACE)
target_link_libraries(riesz_test_options INTERFACE riesz_warnings)
target_compile_options(riesz_test_options INTERFACE $<$<CONFIG:Release>:-O1>)

# Sanitizers are slow; so is an MPI that does not yield, where ranks share processors.
set(RIESZ_TIMEOUT_FACTOR 1)
if(RIESZ_SANITIZE OR NOT RIESZ_OPEN_MPI)
  set(RIESZ_TIMEOUT_FACTOR 5)
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)

# riesz_joined_tests(<out> <name> file...): the sources, of which those that end in _test.cpp are written into a few,
# at most eight in one, and all others into one, but for those of SKIP_UNITY_BUILD_INCLUSION.
function(riesz_joined_tests out name)
  set(tests ${ARGN})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(LENGTH tests count)
  if(NOT RIESZ_JOIN OR count LESS 2)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(others)
  set(alone)
  foreach(source IN LISTS ARGN)
    get_source_file_property(is_alone "${source}" SKIP_UNITY_BUILD_INCLUSION)
    if(is_alone)
      list(APPEND alone "${source}")
    elseif(NOT source MATCHES "_test\\.cpp$")
      list(APPEND others "${source}")
    endif()
  endforeach()
  riesz_joined(sources beside_${name} 1 ${others} BESIDE ${RIESZ_HEADERS_BESIDE})
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${riesz_warnings_of_joined}")
  list(APPEND sources ${alone})
  math(EXPR parts "(${count} + 7) / 8")
  foreach(part RANGE 1 ${parts})
    math(EXPR begin "${count} * (${part} - 1) / ${parts}")
    math(EXPR size "${count} * ${part} / ${parts} - ${begin}")
    list(SUBLIST tests ${begin} ${size} some)
    list(TRANSFORM some PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    set(joined "${CMAKE_CURRENT_BINARY_DIR}/${name}_${part}.cpp")
    add_custom_command(OUTPUT "${joined}"
      COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/support/join_tests.py" "${joined}" ${some}
      DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/join_tests.py" ${some}
      VERBATIM)
    list(APPEND sources "${joined}")
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# add_mpi_test(<name>
#   SOURCES file...
#   RANKS k...            one entry <name>.np<k> each
#   [LOCAL suite...]      suites that no other worker changes: they run on one rank alone, which is among the RANKS
#   [LARGE test...]       with them, tests (such as Layouts.*) that alone run on more than four ranks. Eight ranks on two
#                         processors take ten times what two take, so it is worth it where layouts need as many
#   [LINK target...]      beside Riesz::testing, which brings main()
#   [LABELS label...] [TIMEOUT seconds])
function(add_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;RANKS;LOCAL;LARGE;LINK;LABELS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES OR NOT arg_RANKS)
    message(FATAL_ERROR "add_mpi_test(${name}): needs SOURCES and RANKS; unknown: [${arg_UNPARSED_ARGUMENTS}]")
  endif()
  if(arg_LOCAL AND NOT 1 IN_LIST arg_RANKS)
    message(FATAL_ERROR "add_mpi_test(${name}): LOCAL suites run on one rank; RANKS has none")
  endif()
  set(target test_${name})
  riesz_joined_tests(sources ${name} ${arg_SOURCES})
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE Riesz::testing ${arg_LINK} riesz_test_options)
  riesz_use_precompiled(${target} riesz_precompiled_for_tests)
  list(TRANSFORM arg_LOCAL APPEND ".*")
  list(JOIN arg_LOCAL ":" local)
  list(JOIN arg_LARGE ":" large)
  foreach(ranks IN LISTS arg_RANKS)
    set(which)
    if(arg_LARGE AND ranks GREATER 4)
      set(which "--gtest_filter=${large}")
    elseif(arg_LOCAL AND ranks GREATER 1)
      set(which "--gtest_filter=-${local}")
    endif()
    add_test(NAME ${name}.np${ranks} COMMAND "${RIESZ_MPIRUN}" -n ${ranks} $<TARGET_FILE:${target}> ${which})
    riesz_test_properties(${name}.np${ranks} ${ranks} "${arg_TIMEOUT}" "${arg_LABELS}")
  endforeach()
endfunction()

# add_process_test(<name>
#   COMMAND word...             the program: a target, or a file
#   [RANKS k]                   under mpirun on k ranks; without it, run directly
#   [EXIT zero|nonzero]         default zero
#   [SECONDS s]                 it must end within s seconds of a quiet machine, times RIESZ_TIMEOUT_FACTOR; default: TIMEOUT
#   [MATCHES regex...]          each is found in what it prints (grep -E, line by line)
#   [ONCE regex...]             each is found exactly once
#   [LACKS regex...]            none is found
#   [LEAVES_NOTHING path...]    these do not exist afterwards (and are removed before)
#   [LABELS label...] [TIMEOUT seconds])
function(add_process_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RANKS;EXIT;SECONDS;TIMEOUT"
    "COMMAND;MATCHES;ONCE;LACKS;LEAVES_NOTHING;LABELS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_COMMAND)
    message(FATAL_ERROR "add_process_test(${name}): needs COMMAND; unknown: [${arg_UNPARSED_ARGUMENTS}]")
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(launcher)
  set(ranks 1)
  if(arg_RANKS)
    set(ranks ${arg_RANKS})
    set(launcher "${RIESZ_MPIRUN}" -n ${ranks})
  elseif(arg_COMMAND MATCHES "mpirun;(--[a-z-]+;)?-n;([0-9]+)")  # a command that starts the launcher itself
    set(ranks ${CMAKE_MATCH_2})
  endif()
  if(arg_SECONDS)
    math(EXPR arg_SECONDS "${arg_SECONDS} * ${RIESZ_TIMEOUT_FACTOR}")
  endif()
  set(rules)
  foreach(rule IN ITEMS EXIT SECONDS MATCHES ONCE LACKS LEAVES_NOTHING)
    string(TOLOWER "--${rule}" option)
    foreach(value IN LISTS arg_${rule})
      list(APPEND rules ${option} "${value}")
    endforeach()
  endforeach()
  add_test(NAME ${name}
    COMMAND "${PROJECT_SOURCE_DIR}/tests/support/expect_run.sh" ${rules} -- ${launcher} ${program} ${arg_COMMAND})
  riesz_test_properties(${name} ${ranks} "${arg_TIMEOUT}" "${arg_LABELS}")
endfunction()

# A test takes as many of ctest's slots as it starts ranks. Ranks that wait for each other leave the processors to other
# tests, so the presets give more slots than there are processors. A test of more ranks than slots runs alone.
# Other work on the machine is no failure: a test has many times what it takes. A worker that waits for one who does not
# come says so long before (RIESZ_DEADLINE).
function(riesz_test_properties test ranks timeout labels)
  if(NOT timeout)
    set(timeout 1200)
  endif()
  math(EXPR timeout "${timeout} * ${RIESZ_TIMEOUT_FACTOR}")
  math(EXPR deadline "120 * ${RIESZ_TIMEOUT_FACTOR}")
  set_tests_properties(${test} PROPERTIES PROCESSORS ${ranks} TIMEOUT ${timeout} LABELS "${labels}"
    ENVIRONMENT "RIESZ_DEADLINE=${deadline}")
endfunction()
