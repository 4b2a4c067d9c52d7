// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

// What libriesz_cuda.so exports, by names of C: nothing of a program that loads it. So a program that links
// Riesz's static libraries has each table once. NCCL's functions take types of LibTorch and C++, so the
// library and the program must be of the same LibTorch and compiler.

#define RIESZ_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

/// The version of the project that it was built from.
RIESZ_CUDA_EXPORT const char* riesz_cuda_version();
/// The digest of the headers that it was built from (comm/kernels/digest.h).
RIESZ_CUDA_EXPORT const char* riesz_cuda_digest();
/// The architectures that it was compiled for, such as "80 90": the last one's PTX is in it too.
RIESZ_CUDA_EXPORT const char* riesz_cuda_architectures();
/// A GPU's compute capability, such as 90 for 9.0. Returns nullptr, or what went wrong.
RIESZ_CUDA_EXPORT const char* riesz_cuda_capability(int device, int* capability);

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
