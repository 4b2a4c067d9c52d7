# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Run by cmake --install: puts LibTorch's CPU half, with its headers and the two CUDA libraries that it loads, into the
# installed tree, where RIESZ_INSTALL_LIBTORCH is ON, or AUTO and some user could not read the one in
# RIESZ_LIBTORCH_FOLDER, such as a cache in a home folder. The program and the package look there first.

cmake_policy(VERSION 3.25)

# result = the first of the path and the folders above it that others than its owner may not read or enter; else empty.
function(riesz_closed_to_others path result)
  set(${result} "" PARENT_SCOPE)
  file(REAL_PATH "${path}" path)
  set(needed 4)  # to be read; of folders above, to be entered
  while(TRUE)
    execute_process(COMMAND stat -c %a "${path}" OUTPUT_VARIABLE mode OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX MATCH ".$" others "${mode}")
    math(EXPR allowed "${others} & ${needed}")
    if(allowed EQUAL 0)
      set(${result} "${path}" PARENT_SCOPE)
      return()
    endif()
    cmake_path(GET path PARENT_PATH above)
    if(above STREQUAL path)
      return()
    endif()
    set(path "${above}")
    set(needed 1)
  endwhile()
endfunction()

# The libraries that libtorch_cpu.so needs and that do not come with the system: beside it, or in the CUDA folders.
set(libraries "${RIESZ_LIBTORCH_FOLDER}/lib/libc10.so" "${RIESZ_LIBTORCH_FOLDER}/lib/libtorch_cpu.so")
file(GLOB openmp "${RIESZ_LIBTORCH_FOLDER}/lib/libgomp*")
set(cuda)
foreach(folder IN LISTS RIESZ_CUDA_FOLDERS)
  file(GLOB found "${folder}/libcudart.so.*" "${folder}/libcupti.so.*")
  list(APPEND cuda ${found})
endforeach()

set(closed)
foreach(library IN LISTS libraries openmp cuda)
  if(NOT closed)
    riesz_closed_to_others("${library}" closed)
  endif()
endforeach()

if(RIESZ_INSTALL_LIBTORCH STREQUAL "AUTO" AND closed)
  message(STATUS "Installing LibTorch too: others may not read ${closed} (RIESZ_INSTALL_LIBTORCH=OFF leaves it out)")
elseif(NOT RIESZ_INSTALL_LIBTORCH STREQUAL "AUTO" AND RIESZ_INSTALL_LIBTORCH)
  message(STATUS "Installing LibTorch too")
else()
  if(closed)
    message(STATUS "Only those who may read ${closed} can run what is installed; the others need RIESZ_INSTALL_LIBTORCH=ON")
  endif()
  return()
endif()
set(CMAKE_INSTALL_MESSAGE NEVER)
file(INSTALL ${libraries} ${openmp} DESTINATION "${RIESZ_LIBTORCH_DESTINATION}/lib" TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN)
if(NOT CMAKE_INSTALL_COMPONENT STREQUAL "program")
  file(INSTALL "${RIESZ_LIBTORCH_FOLDER}/include" DESTINATION "${RIESZ_LIBTORCH_DESTINATION}" TYPE DIRECTORY)
endif()
if(cuda)
  # Where libtorch_cpu.so itself looks for them.
  file(INSTALL ${cuda} DESTINATION "${RIESZ_LIBTORCH_DESTINATION}/../nvidia/cu13/lib" TYPE SHARED_LIBRARY
    FOLLOW_SYMLINK_CHAIN)
endif()

# The programs look there first, and no longer where others cannot.
foreach(program IN ITEMS riesz riesz-tools)
  if(NOT EXISTS "${RIESZ_PROGRAM_FOLDER}/${program}")
    continue()
  endif()
  file(READ_ELF "${RIESZ_PROGRAM_FOLDER}/${program}" RPATH folders)
  string(REPLACE ":" ";" folders "${folders}")
  set(first "${folders}")
  list(FILTER first INCLUDE REGEX "^.ORIGIN")
  list(REMOVE_ITEM folders ${first} "${RIESZ_LIBTORCH_FOLDER}/lib" ${RIESZ_CUDA_FOLDERS})
  list(PREPEND folders ${first})
  list(REMOVE_DUPLICATES folders)
  list(JOIN folders ":" folders)
  file(RPATH_SET FILE "${RIESZ_PROGRAM_FOLDER}/${program}" NEW_RPATH "${folders}")
endforeach()
