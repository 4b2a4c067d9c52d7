# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# What nearly every source includes, compiled once: at::Tensor, and ATen/Context.h, which each header of an operation
# brings, take most of a file's time. With RIESZ_PRECOMPILE=OFF (the preset "plain") nothing is precompiled, which
# proves that sources and headers include what they use.

option(RIESZ_PRECOMPILE "Compile what nearly every source includes once" ON)

set(RIESZ_PRECOMPILED_HEADERS
  <algorithm> <array> <functional> <map> <memory> <optional> <sstream> <string> <utility> <vector>
  <ATen/core/Tensor.h> <ATen/core/grad_mode.h>)
foreach(operation IN ITEMS add arange cat empty empty_like equal full mul ones ones_like scalar_tensor stack sum tensor
    zeros zeros_like)
  list(APPEND RIESZ_PRECOMPILED_HEADERS <ATen/ops/${operation}.h>)
endforeach()

# Without it some of ATen's headers include those of all its operations, which takes a compiler seconds.
set(riesz_few_headers -DAT_PER_OPERATOR_HEADERS)

# riesz_precompiled(<name> LINK target... [HEADERS header...] [OPTIONS option...]): a target whose precompiled headers
# others use by riesz_use_precompiled(). Both must be compiled with the same flags.
function(riesz_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK;HEADERS;OPTIONS")
  if(NOT RIESZ_PRECOMPILE)
    return()
  endif()
  set(source "${PROJECT_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Precompiled headers need a source to belong to.\n")
  add_library(${name} OBJECT "${source}")
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS} ${RIESZ_PRECOMPILED_HEADERS})
endfunction()

function(riesz_use_precompiled target name)
  if(RIESZ_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
  if(name STREQUAL riesz_precompiled_for_rooms)
    target_compile_options(${target} PRIVATE ${riesz_few_headers})
  endif()
  if(RIESZ_PRECOMPILE AND name STREQUAL riesz_precompiled_for_rooms)
    # With precompiled headers GCC 12 sees overflows in "text" + std::string in more places (its bug 105651).
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()

# A program with what is precompiled for rooms, which are compiled as for a library. It only calls the library, which is as
# fast at -O1.
function(riesz_use_precompiled_in_program target)
  riesz_optimise(${target} -O1)
  if(RIESZ_PRECOMPILE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  riesz_use_precompiled(${target} riesz_precompiled_for_rooms)
endfunction()

riesz_precompiled(riesz_precompiled_for_rooms LINK Riesz::LibTorch riesz_warnings OPTIONS ${riesz_few_headers})
