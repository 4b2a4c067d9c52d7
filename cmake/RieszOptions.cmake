# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Options, language level, warnings, sanitizers, and the build's speed (ccache, mold).

option(RIESZ_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(RIESZ_BUILD_APP "Build the riesz program" ON)
option(RIESZ_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(RIESZ_BUILD_BENCHMARKS "Build the benchmarks" OFF)
option(RIESZ_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
option(RIESZ_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
option(RIESZ_NATIVE "Compile for this machine's processor (-march=native)" OFF)
option(RIESZ_JEMALLOC "Let programs that link Riesz allocate by jemalloc, where it is found" ON)
set(RIESZ_CUDA AUTO CACHE STRING "Build libriesz_cuda.so, with the kernels for CUDA: ON, OFF, or AUTO, where a toolkit is found")
set_property(CACHE RIESZ_CUDA PROPERTY STRINGS AUTO ON OFF)
set(RIESZ_CUDA_ARCHITECTURES 90 CACHE STRING "Architectures that the kernels are compiled for; the last one's PTX serves newer ones")
set(RIESZ_CUDA_TOOLKIT "" CACHE PATH "The folder of a CUDA toolkit (holds bin/nvcc)")
set(RIESZ_SANITIZE "" CACHE STRING "Sanitizer: empty, address (and undefined behaviour) or thread")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(RIESZ_CCACHE ccache)
  if(RIESZ_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Precompiled headers hit the cache only with this sloppiness; the base directory lets clones share it.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${RIESZ_CCACHE})
  endif()
  find_program(RIESZ_MOLD mold)
  if(RIESZ_MOLD AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    add_link_options(-fuse-ld=mold)
  endif()
endif()

if(RIESZ_NATIVE)
  add_compile_options(-march=native)
endif()

if(RIESZ_SANITIZE STREQUAL "address")
  # With undefined behaviour, at hardly more cost. LibTorch hides some type information: -fsanitize=vptr would not link.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(RIESZ_SANITIZE STREQUAL "thread")
  # It does not know fences; the board's are between processes, which it does not see either.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -Wno-tsan)
  add_link_options(-fsanitize=thread)
elseif(RIESZ_SANITIZE)
  message(FATAL_ERROR "RIESZ_SANITIZE=${RIESZ_SANITIZE}: it may be empty, address or thread")
endif()

# Sanitizers bring an allocator of their own.
set(RIESZ_ALLOCATOR "")
if(RIESZ_JEMALLOC AND NOT RIESZ_SANITIZE)
  find_library(RIESZ_JEMALLOC_LIBRARY jemalloc)
  find_path(RIESZ_JEMALLOC_INCLUDE jemalloc/jemalloc.h)
  if(RIESZ_JEMALLOC_LIBRARY AND RIESZ_JEMALLOC_INCLUDE)
    set(RIESZ_ALLOCATOR jemalloc)
  endif()
endif()

# Linked privately, and only in the build tree: a user of Riesz keeps their own warnings.
add_library(riesz_warnings INTERFACE)
target_compile_options(riesz_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  # GCC 12 sees overlaps in "text" + std::string (its bug 105651).
  -Wno-restrict
  # Designated initialisers leave members out on purpose.
  -Wno-missing-field-initializers
  $<$<BOOL:${RIESZ_WARNINGS_AS_ERRORS}>:-Werror>)

# riesz_optimise(<target> <level>): how far a release optimises it, such as -O1; "" leaves it at CMake's -O3. What only calls
# LibTorch, or runs once, does not gain by more than -O1, which compiles in three quarters of the time.
function(riesz_optimise target level)
  if(level)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
  endif()
endfunction()
