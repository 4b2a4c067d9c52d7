// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <utility>

namespace riesz {

/// A function with a kernel for each type of device. It has one kernel for the CPU, and one for all other
/// devices, which queues a kernel of the device's library (`comm/kernels/device_kernels.h`) or calls
/// LibTorch's operators. A call costs a load and a jump.
///
///     Dispatched<at::Tensor(const at::Tensor&)> f{f_of_memory, f_of_operators};
///     f(x.device(), x);
template <typename Function>
class Dispatched;

template <typename Result, typename... Arguments>
class Dispatched<Result(Arguments...)> {
 public:
  using Kernel = Result (*)(Arguments...);

  constexpr Dispatched(Kernel cpu, Kernel other) {
    kernels_.fill(other);
    kernels_[number_of(at::kCPU)] = cpu;
  }

  /// Sets the kernel of a type of device. Before the first call: nothing guards the table.
  void set(at::DeviceType type, Kernel kernel) { kernels_[number_of(type)] = kernel; }

  Result operator()(at::Device device, Arguments... arguments) const {
    return kernels_[number_of(device.type())](std::forward<Arguments>(arguments)...);
  }

 private:
  static constexpr std::size_t number_of(at::DeviceType type) { return static_cast<std::size_t>(type); }

  std::array<Kernel, static_cast<std::size_t>(c10::COMPILE_TIME_MAX_DEVICE_TYPES)> kernels_{};
};

}  // namespace riesz
