# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# A digest of the headers that a program and libriesz_cuda.so share, compiled into both: kernels are found by the names of
# their types, so a library that was built from other headers would compute with other objects than the program gives it.

# riesz_shared_digest(<out> file...): a source that defines riesz::detail::shared_digest, made when one of the headers
# changes that the files include, by way of others too. The headers of src/cuda are the library's alone, but for
# interface.h.
function(riesz_shared_digest out)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/shared_digest.cpp")
  set(script "${PROJECT_SOURCE_DIR}/cmake/RieszDigest.cmake")
  add_custom_command(OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" "-DSOURCES=${PROJECT_SOURCE_DIR}/src" "-DROOTS=${ARGN}" "-DOUTPUT=${source}" -P "${script}"
    DEPENDS "${script}" ${ARGN}
    DEPFILE "${source}.d"
    VERBATIM)
  add_custom_target(riesz_shared_digest DEPENDS "${source}")
  set(${out} "${source}" PARENT_SCOPE)
endfunction()

# As a script: writes OUTPUT, and beside it the list of files that it depends on.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  cmake_minimum_required(VERSION 3.25)
  set(seen)
  set(ahead ${ROOTS})
  while(ahead)
    list(POP_FRONT ahead file)
    if(NOT file IN_LIST seen)
      list(APPEND seen "${file}")
      file(STRINGS "${file}" lines REGEX "^#include \"riesz/")
      foreach(line IN LISTS lines)
        string(REGEX REPLACE "^#include \"riesz/([^\"]+)\".*" "\\1" name "${line}")
        list(APPEND ahead "${SOURCES}/${name}")
      endforeach()
    endif()
  endwhile()
  list(SORT seen)
  set(all)
  foreach(file IN LISTS seen)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${SOURCES}" OUTPUT_VARIABLE name)
    if(name STREQUAL "cuda/interface.h" OR (name MATCHES "\\.h$" AND NOT name MATCHES "^cuda/"))
      file(SHA256 "${file}" digest)
      string(APPEND all "${name} ${digest}\n")
    endif()
  endforeach()
  string(SHA256 digest "${all}")
  string(SUBSTRING "${digest}" 0 16 digest)
  file(WRITE "${OUTPUT}" "// Written by cmake/RieszDigest.cmake.\n"
    "namespace riesz::detail {\nextern const char* const shared_digest;\n"
    "const char* const shared_digest = \"${digest}\";\n}  // namespace riesz::detail\n")
  list(JOIN seen " " seen)
  file(WRITE "${OUTPUT}.d" "${OUTPUT}: ${seen}\n")
endif()
