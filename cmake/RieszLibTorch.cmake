# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Riesz::LibTorch: the CPU half of LibTorch as imported targets. find_package(Torch) is not used: on a CUDA
# build it enables CUDA, rewrites its flags and fails without a toolkit.
#
# Searched in this order, as scripts/setup.sh does:
#   RIESZ_LIBTORCH (variable, then environment), the torch of python3, the cache that scripts/setup.sh fills.

include_guard(GLOBAL)
set(RIESZ_LIBTORCH_VERSION 2.11.0)
set(RIESZ_LIBTORCH "" CACHE PATH "The folder of LibTorch ${RIESZ_LIBTORCH_VERSION} (holds include/ and lib/)")

if(DEFINED ENV{RIESZ_CACHE})
  set(riesz_cache "$ENV{RIESZ_CACHE}")
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(riesz_cache "$ENV{XDG_CACHE_HOME}/riesz")
else()
  set(riesz_cache "$ENV{HOME}/.cache/riesz")
endif()

# The version of the LibTorch in `folder`, empty if there is none.
function(riesz_libtorch_version folder result)
  set(${result} "" PARENT_SCOPE)
  set(header "${folder}/include/torch/headeronly/version.h")
  if(NOT EXISTS "${header}")
    set(header "${folder}/include/torch/csrc/api/include/torch/version.h")
  endif()
  if(NOT EXISTS "${header}" OR NOT EXISTS "${folder}/lib/libtorch_cpu.so" OR NOT EXISTS "${folder}/lib/libc10.so")
    return()
  endif()
  file(STRINGS "${header}" lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
  list(JOIN numbers . version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# A root above the torch folder is accepted for the folder itself.
function(riesz_libtorch_folder folder result)
  if(EXISTS "${folder}/torch/lib/libtorch_cpu.so")
    set(folder "${folder}/torch")
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

function(riesz_find_libtorch result)
  set(named "${RIESZ_LIBTORCH}")
  if(NOT named)
    set(named "$ENV{RIESZ_LIBTORCH}")
  endif()
  if(named)
    riesz_libtorch_folder("${named}" folder)
    riesz_libtorch_version("${folder}" version)
    if(NOT version VERSION_EQUAL RIESZ_LIBTORCH_VERSION)
      if(version STREQUAL "")
        set(version "no LibTorch (include/ and lib/libtorch_cpu.so)")
      endif()
      message(FATAL_ERROR
        "RIESZ_LIBTORCH=${named} holds ${version}; Riesz needs LibTorch ${RIESZ_LIBTORCH_VERSION}. "
        "Name another folder, or none: then scripts/setup.sh fetches it.")
    endif()
    set(${result} "${folder}" PARENT_SCOPE)
    return()
  endif()

  find_program(RIESZ_PYTHON3 python3)
  mark_as_advanced(RIESZ_PYTHON3)
  set(candidates)
  if(RIESZ_PYTHON3)
    execute_process(
      COMMAND "${RIESZ_PYTHON3}" -c
        "import importlib.util as u; s = u.find_spec('torch'); print(*(s.submodule_search_locations if s else []))"
      WORKING_DIRECTORY / OUTPUT_VARIABLE installed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(installed)
      list(APPEND candidates "${installed}")
    endif()
  endif()
  list(APPEND candidates "${riesz_cache}/libtorch-${RIESZ_LIBTORCH_VERSION}/torch")
  foreach(folder IN LISTS candidates)
    riesz_libtorch_version("${folder}" version)
    if(version VERSION_EQUAL RIESZ_LIBTORCH_VERSION)
      set(${result} "${folder}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  list(JOIN candidates "\n  " candidates)
  message(FATAL_ERROR "No LibTorch ${RIESZ_LIBTORCH_VERSION} in\n  ${candidates}\n"
    "Run scripts/setup.sh, or name a folder by RIESZ_LIBTORCH.")
endfunction()

# A CUDA build of LibTorch loads libcudart and libcupti even for its CPU half. Finds the folders that hold
# them: beside torch, in the cache, or in a toolkit.
function(riesz_find_cuda_runtime torch result)
  set(${result} "" PARENT_SCOPE)
  execute_process(COMMAND ${CMAKE_READELF} -d "${torch}/lib/libtorch_cpu.so" OUTPUT_VARIABLE dynamic)
  string(REGEX MATCHALL "lib(cudart|cupti)\\.so\\.[0-9]+" libraries "${dynamic}")
  cmake_path(GET torch PARENT_PATH site)
  file(GLOB toolkits /usr/local/cuda /usr/local/cuda-* /opt/cuda*)
  set(folders)
  foreach(library IN LISTS libraries)
    string(MAKE_C_IDENTIFIER "RIESZ_${library}" variable)
    unset(${variable} CACHE)
    find_path(${variable} "${library}" NO_DEFAULT_PATH PATHS
      "${site}/nvidia/cu13/lib"
      "${riesz_cache}/cuda-runtime-13.0/nvidia/cu13/lib"
      $ENV{CUDA_HOME} $ENV{CUDA_PATH} ${toolkits} /usr /usr/local
      PATH_SUFFIXES lib64 lib extras/CUPTI/lib64 targets/x86_64-linux/lib lib/x86_64-linux-gnu)
    if(NOT ${variable})
      message(FATAL_ERROR "${torch}/lib/libtorch_cpu.so needs ${library}, which is not in ${site}/nvidia, in "
        "${riesz_cache}/cuda-runtime-13.0, or in a CUDA toolkit. Run scripts/setup.sh.")
    endif()
    list(APPEND folders "${${variable}}")
    unset(${variable} CACHE)
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(${result} "${folders}" PARENT_SCOPE)
endfunction()

riesz_find_libtorch(RIESZ_LIBTORCH_FOLDER)
riesz_find_cuda_runtime("${RIESZ_LIBTORCH_FOLDER}" riesz_cuda_runtime_folders)
message(STATUS "LibTorch ${RIESZ_LIBTORCH_VERSION}: ${RIESZ_LIBTORCH_FOLDER}")

foreach(library IN ITEMS c10 torch_cpu)
  add_library(Riesz::${library} SHARED IMPORTED GLOBAL)
  set_target_properties(Riesz::${library} PROPERTIES
    IMPORTED_LOCATION "${RIESZ_LIBTORCH_FOLDER}/lib/lib${library}.so"
    IMPORTED_SONAME "lib${library}.so")
endforeach()

add_library(Riesz::LibTorch INTERFACE IMPORTED GLOBAL)
target_include_directories(Riesz::LibTorch SYSTEM INTERFACE
  "${RIESZ_LIBTORCH_FOLDER}/include"
  "${RIESZ_LIBTORCH_FOLDER}/include/torch/csrc/api/include")
target_link_libraries(Riesz::LibTorch INTERFACE Riesz::torch_cpu Riesz::c10)
# An RPATH, unlike a RUNPATH, also serves the libraries that LibTorch itself loads, and goes before
# LD_LIBRARY_PATH, where an older libcupti may lie.
target_link_options(Riesz::LibTorch INTERFACE "LINKER:--disable-new-dtags" "LINKER:-rpath,${RIESZ_LIBTORCH_FOLDER}/lib")
foreach(folder IN LISTS riesz_cuda_runtime_folders)
  target_link_options(Riesz::LibTorch INTERFACE "LINKER:-rpath,${folder}" "LINKER:-rpath-link,${folder}")
endforeach()
