# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Sources compiled a few at once: a compiler reads their headers, and makes the templates that they have in common, once a
# part instead of once a source, which is most of its time. With RIESZ_JOIN=OFF (the preset "plain") each is compiled by
# itself.

option(RIESZ_JOIN "Compile a few sources at once" ON)
# The folders whose headers sources of tests and benchmarks include.
set(RIESZ_HEADERS_BESIDE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/models" "${PROJECT_SOURCE_DIR}/app" "${PROJECT_SOURCE_DIR}/tests")
find_package(Python3 QUIET COMPONENTS Interpreter)

# riesz_joined(<out> <name> <parts> file... [BESIDE folder...]): as many sources that include all those of a library or
# program, which include public headers of these folders beside those of their own. They are found from the tree's root,
# and compiled with the warnings of riesz_joined_warnings: a local name may be that of another source, and to a compiler
# what a source includes is not its own.
set(riesz_warnings_of_joined -Wno-shadow -Wshadow=local -Wno-subobject-linkage)
add_library(riesz_joined_warnings INTERFACE)
target_compile_options(riesz_joined_warnings INTERFACE "$<$<BOOL:${RIESZ_JOIN}>:${riesz_warnings_of_joined}>")
function(riesz_joined out name parts)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "BESIDE")
  list(LENGTH arg_UNPARSED_ARGUMENTS count)
  if(NOT RIESZ_JOIN OR NOT Python3_FOUND OR count LESS 2)
    set(${out} ${arg_UNPARSED_ARGUMENTS} PARENT_SCOPE)
    return()
  endif()
  set(sources)
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND sources "${source}")
  endforeach()
  set(joined)
  include_directories("${PROJECT_SOURCE_DIR}")
  foreach(part RANGE 1 ${parts})
    list(APPEND joined "${CMAKE_CURRENT_BINARY_DIR}/part_${name}_${part}.cpp")
  endforeach()
  add_custom_command(OUTPUT ${joined}
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/cmake/unity.py" ${joined} -- ${sources}
      -- ${arg_BESIDE}
    DEPENDS "${PROJECT_SOURCE_DIR}/cmake/unity.py" "${PROJECT_SOURCE_DIR}/tests/hygiene/check_types.py" ${sources}
    VERBATIM)
  # Of two targets that use it, one waits for no library: so the parts are written, and compiled, before libraries are.
  add_custom_target(riesz_parts_of_${name} DEPENDS ${joined})
  set(${out} ${joined} PARENT_SCOPE)
endfunction()
