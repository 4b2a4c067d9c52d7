// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "riesz/comm/kernels/list.h"
#include "riesz/cuda/registry.h"
#include "riesz/cuda/team.h"

// How a kernel of a list is launched: one thread for an element, or one block for a row.
namespace riesz::cuda {

template <typename Kernel>
inline constexpr bool of_rows = requires(const Kernel& kernel, Block team) {
  kernel(team, std::int64_t{});
};

inline constexpr int kThreads = 256;

template <typename Kernel>
__global__ void __launch_bounds__(kThreads) each_element(const Kernel kernel, std::int64_t count) {
  const std::int64_t step = std::int64_t{kThreads} * gridDim.x;
  for (std::int64_t i = std::int64_t{kThreads} * blockIdx.x + threadIdx.x; i < count; i += step) kernel(i);
}

template <typename Kernel>
__global__ void __launch_bounds__(kMostOfRow) each_row(const Kernel kernel, std::int64_t count) {
  for (std::int64_t row = blockIdx.x; row < count; row += gridDim.x) kernel(Block{}, row);
}

/// Queues a kernel; a `Launch` of comm/kernels/device_kernels.h.
template <typename Kernel>
const char* launch(const void* kernel, std::int64_t count, std::int64_t elements, void* stream) {
  constexpr std::int64_t kMostBlocks = 0x7FFFFFFF;
  const auto& of = *static_cast<const Kernel*>(kernel);
  const auto at = static_cast<cudaStream_t>(stream);
  if constexpr (of_rows<Kernel>) {
    const auto blocks = static_cast<unsigned>(count < kMostBlocks ? count : kMostBlocks);
    each_row<<<blocks, threads_of_row(elements), 0, at>>>(of, count);
  } else {
    const std::int64_t blocks = (count + kThreads - 1) / kThreads;
    each_element<<<static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks), kThreads, 0, at>>>(
        of, count);
  }
  const cudaError_t result = cudaGetLastError();
  return result == cudaSuccess ? nullptr : cudaGetErrorString(result);
}

/// An object of this type adds the kernels of a list to the registry, before main.
template <typename List>
struct Registered;
template <typename... Kernels>
struct Registered<kernels::KernelList<Kernels...>> {
  Registered() { (registry_add(typeid(Kernels).name(), launch<Kernels>, sizeof(Kernels)), ...); }
};

}  // namespace riesz::cuda
