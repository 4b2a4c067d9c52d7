// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace riesz {

/// Loads what computes on a type of device, once: for CUDA LibTorch's library for it and libriesz_cuda.so,
/// with our kernels and NCCL. Nothing for other types. Before the first use of a GPU in this process, for
/// LibTorch looks for one only once.
/// @throws Error that says what is missing, the driver first, and the remedy.
void load_device_library(at::DeviceType type);

namespace detail {

/// The functions of libriesz_cuda.so (cuda/interface.h) beside the kernels and NCCL's.
struct CudaLibrary {
  void (*range_push)(const char* name);
  void (*range_pop)();
  std::size_t (*kernels)();
  int (*nccl_compiled)();
  int (*nccl_loaded)();
};

/// Loads libriesz_cuda.so alone, without a driver too, and sets its kernels and NCCL's functions. Once.
/// `asks` and `otherwise` are for the error: who asks for it, and what else one can do, after a comma.
/// @throws Error if it cannot be loaded, or is of another version, or its NCCL is.
const CudaLibrary& load_cuda_library(const char* asks, const char* otherwise);

/// @throws Error unless versions, as NCCL_VERSION_CODE, agree in major and minor numbers.
void check_nccl_version(int compiled, int loaded);

}  // namespace detail
}  // namespace riesz
