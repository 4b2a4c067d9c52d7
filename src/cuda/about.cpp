// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What the library was built from, and whether a GPU can run it.
#include <cuda_runtime.h>

#include "riesz/comm/kernels/digest.h"
#include "riesz/cuda/interface.h"

const char* riesz_cuda_version() { return RIESZ_VERSION; }
const char* riesz_cuda_digest() { return riesz::detail::shared_digest; }
const char* riesz_cuda_architectures() { return RIESZ_CUDA_ARCHITECTURES; }

const char* riesz_cuda_capability(int device, int* capability) {
  int major = 0, minor = 0;
  cudaError_t result = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (result == cudaSuccess)
    result = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  *capability = 10 * major + minor;
  return result == cudaSuccess ? nullptr : cudaGetErrorString(result);
}
