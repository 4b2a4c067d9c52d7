# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# The digest of shared headers: cmake -DSCRIPT=… -DFOLDER=… -P digest.cmake. A header counts that another one includes; what is
# the library's alone does not.
function(digest out)
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DSOURCES=${FOLDER}" "-DROOTS=${FOLDER}/cuda/a.cu" "-DOUTPUT=${FOLDER}/digest.cpp"
    -P "${SCRIPT}" COMMAND_ERROR_IS_FATAL ANY)
  file(READ "${FOLDER}/digest.cpp" text)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()
file(WRITE "${FOLDER}/cuda/a.cu" "#include <cstdint>\n#include \"riesz/cuda/team.h\"\n#include \"riesz/nn/a.h\"\n")
file(WRITE "${FOLDER}/cuda/team.h" "#include \"riesz/nn/b.h\"\n")
file(WRITE "${FOLDER}/nn/a.h" "#include \"riesz/nn/b.h\"\n")
file(WRITE "${FOLDER}/nn/b.h" "struct B { float x, y; };\n")
digest(first)
file(APPEND "${FOLDER}/cuda/team.h" "struct Team {};\n")
digest(of_the_library)
file(WRITE "${FOLDER}/nn/b.h" "struct B { float y, x; };\n")
digest(second)
file(READ "${FOLDER}/digest.cpp.d" depends)
if(NOT first STREQUAL of_the_library OR first STREQUAL second OR NOT depends MATCHES "/nn/b\\.h")
  message(FATAL_ERROR "${first}${of_the_library}${second}${depends}")
endif()
message("a digest of what is shared")
