// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>

namespace riesz {

/// Loads what computes on a type of device, once. For CUDA that is LibTorch's library for it, and
/// libriesz_cuda.so with our kernels and NCCL. Other types need nothing. Call it before the first use of a
/// GPU in this process, for LibTorch looks for one only once.
/// @throws Error that says what is missing, the driver first, and the remedy.
void load_device_library(at::DeviceType type);

/// @throws Error, naming RIESZ_CUDA_ARCHITECTURES, if libriesz_cuda.so has no kernels that this GPU can run.
/// Nothing for other devices. @pre load_device_library(device.type())
void check_kernels_for(at::Device device);

namespace detail {

/// The functions of libriesz_cuda.so (cuda/interface.h) beside the kernels and NCCL's.
struct CudaLibrary {
  void (*range_push)(const char* name);
  void (*range_pop)();
  std::size_t (*kernels)();
  int (*nccl_compiled)();
  int (*nccl_loaded)();
  const char* (*architectures)();
  const char* (*capability)(int device, int* capability);
};

/// Loads libriesz_cuda.so alone, without a driver too, and sets its kernels and NCCL's functions. Once.
/// `asks` and `otherwise` are for the error: who asks for it, and what else one can do, after a comma.
/// @throws Error if it cannot be loaded, or is of another version or of other headers, or its NCCL is.
const CudaLibrary& load_cuda_library(const char* asks, const char* otherwise);

/// @throws Error unless versions, as NCCL_VERSION_CODE, agree in major and minor numbers.
void check_nccl_version(int compiled, int loaded);

/// @throws Error that names RIESZ_CUDA_ARCHITECTURES unless code of these architectures, such as "80 90",
/// runs on a GPU of this compute capability, such as 90. Machine code runs within its major version, from its
/// own minor version on; the last one's PTX runs from there on.
void check_architectures(at::Device device, int capability, const std::string& compiled);

}  // namespace detail
}  // namespace riesz
