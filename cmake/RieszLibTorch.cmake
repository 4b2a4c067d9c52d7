# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Riesz::LibTorch: the CPU half of LibTorch as imported targets. find_package(Torch) is not used: on a CUDA
# build it enables CUDA, rewrites its flags and fails without a toolkit.

if(TARGET Riesz::LibTorch)
  return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/RieszFindLibTorch.cmake")
set(RIESZ_LIBTORCH "" CACHE PATH "The folder of LibTorch ${RIESZ_LIBTORCH_VERSION} (holds include/ and lib/)")

riesz_find_libtorch(RIESZ_LIBTORCH_FOLDER riesz_notes riesz_named)
list(JOIN riesz_notes "\n  " riesz_notes)
if(NOT RIESZ_LIBTORCH_FOLDER AND riesz_named)
  message(FATAL_ERROR "RIESZ_LIBTORCH cannot be used:\n  ${riesz_notes}\n"
    "Name another folder, or none: then scripts/setup.sh fetches LibTorch ${RIESZ_LIBTORCH_VERSION}.")
elseif(NOT RIESZ_LIBTORCH_FOLDER)
  message(FATAL_ERROR "There is no LibTorch ${RIESZ_LIBTORCH_VERSION} in python3 or in ${RIESZ_CACHED_LIBTORCH}. "
    "Run scripts/setup.sh, or name a folder by RIESZ_LIBTORCH.\n  ${riesz_notes}")
endif()
riesz_find_cuda_runtime("${RIESZ_LIBTORCH_FOLDER}" riesz_folders riesz_missing)
if(riesz_missing)
  message(FATAL_ERROR "${RIESZ_LIBTORCH_FOLDER}/lib/libtorch_cpu.so loads ${riesz_missing}, which is neither "
    "beside it, nor in ${RIESZ_CACHED_CUDA_RUNTIME}, nor in a CUDA toolkit. Run scripts/setup.sh.")
endif()
message(STATUS "LibTorch ${RIESZ_LIBTORCH_VERSION}: ${RIESZ_LIBTORCH_FOLDER}")

foreach(library IN ITEMS c10 torch_cpu)
  add_library(Riesz::${library} SHARED IMPORTED GLOBAL)
  set_target_properties(Riesz::${library} PROPERTIES
    IMPORTED_LOCATION "${RIESZ_LIBTORCH_FOLDER}/lib/lib${library}.so"
    IMPORTED_SONAME "lib${library}.so")
endforeach()

add_library(Riesz::LibTorch INTERFACE IMPORTED GLOBAL)
target_link_libraries(Riesz::LibTorch INTERFACE Riesz::torch_cpu Riesz::c10)

# The wheel brings headers of other libraries, such as an fmt that the system's spdlog does not compile with: the
# system's own go first, unless another LibTorch is among them.
set(riesz_include_flag -idirafter)
if(EXISTS /usr/include/ATen OR EXISTS /usr/local/include/ATen)
  set(riesz_include_flag -isystem)
endif()
foreach(folder IN ITEMS include include/torch/csrc/api/include)
  target_compile_options(Riesz::LibTorch INTERFACE
    "SHELL:${riesz_include_flag} \"${RIESZ_LIBTORCH_FOLDER}/${folder}\"")
endforeach()

# An RPATH, unlike a RUNPATH, also serves the libraries that LibTorch itself loads, and goes before
# LD_LIBRARY_PATH, where an older libcupti may lie.
target_link_options(Riesz::LibTorch INTERFACE LINKER:--disable-new-dtags)
foreach(folder IN ITEMS "${RIESZ_LIBTORCH_FOLDER}/lib" LISTS riesz_folders)
  target_link_options(Riesz::LibTorch INTERFACE "LINKER:-rpath,${folder}" "LINKER:-rpath-link,${folder}")
endforeach()
