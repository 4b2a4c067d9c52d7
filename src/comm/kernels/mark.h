// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Marks of functions that kernels share. With a compiler of device code the same function is compiled for the
// device too.

#if defined(__CUDACC__)
#define RIESZ_ELEMENT __host__ __device__ __forceinline__
#define RIESZ_ROW __host__ __device__ __forceinline__
#define RIESZ_PART
#else
/// A function of one element of a kernel: it is always part of the kernel that calls it.
#define RIESZ_ELEMENT inline __attribute__((always_inline))
/// A function of one row: it is compiled into each processor's version of a kernel.
#define RIESZ_ROW inline __attribute__((always_inline))
/// The same of what `Team::each` calls.
#define RIESZ_PART __attribute__((always_inline))
#endif
