// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

// What libriesz_cuda.so exports, in C: nothing of LibTorch, and nothing of a program that loads it. So a
// program that links Riesz's static libraries has each table once.

#define RIESZ_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

/// The version of the project that it was built from.
RIESZ_CUDA_EXPORT const char* riesz_cuda_version();

/// `KernelLibrary::find`.
RIESZ_CUDA_EXPORT const char* (*riesz_cuda_find(const char* kernel, std::size_t* size))(const void*,
                                                                                        std::int64_t,
                                                                                        std::int64_t, void*);
/// How many kernels it has, elements' and rows'.
RIESZ_CUDA_EXPORT std::size_t riesz_cuda_kernels();

/// NCCL's version, as NCCL_VERSION_CODE: with which it was compiled, and which is loaded (0: none answers).
RIESZ_CUDA_EXPORT int riesz_cuda_nccl_compiled();
RIESZ_CUDA_EXPORT int riesz_cuda_nccl_loaded();
/// The functions of NCCL: a `riesz::nccl::Functions`.
RIESZ_CUDA_EXPORT const void* riesz_cuda_nccl_functions();

/// Opens and closes an NVTX range of this thread, which a profiler such as Nsight Systems shows.
RIESZ_CUDA_EXPORT void riesz_cuda_range_push(const char* name);
RIESZ_CUDA_EXPORT void riesz_cuda_range_pop();
