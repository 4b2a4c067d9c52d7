// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <typeinfo>

namespace riesz {

/// Queues a kernel for `count` elements or rows in a stream, as `c10::Stream::native_handle` gives it.
/// `elements`: of a row. Copies the kernel before it returns. Returns nullptr, or what went wrong.
using Launch = const char* (*)(const void* kernel, std::int64_t count, std::int64_t elements, void* stream);

/// The kernels that a library for a type of device has compiled.
struct KernelLibrary {
  const char* name;  ///< for people, such as "libriesz_cuda.so"
  /// The launch of the kernel of this name, and the size of its object; nullptr: it has none of that name.
  Launch (*find)(const char* kernel, std::size_t* size);
};

/// The library of a type of device; nullptr: none, and LibTorch's operators compute there.
const KernelLibrary* kernel_library_for(at::DeviceType type);
/// Sets it, and returns the one before. A device's library is set as it is loaded; a test sets a stand-in. It
/// lives as long as it is set.
const KernelLibrary* set_kernel_library_for(at::DeviceType type, const KernelLibrary* library);

namespace detail {

/// @throws Error if the library's kernel of that name has another size: it is of another build.
Launch found_launch(at::DeviceType type, const char* kernel, std::size_t size);
/// In the current stream. @throws Error with the library's text. Nothing is queued for tensors without data.
void launch(at::Device device, Launch function, const void* kernel, std::int64_t count,
            std::int64_t elements);

}  // namespace detail

/// Has the library of this device compiled the kernel?
template <typename Kernel>
bool has_kernel(at::Device device) {
  return detail::found_launch(device.type(), typeid(Kernel).name(), sizeof(Kernel)) != nullptr;
}

/// Queues `kernel` for elements, or rows of so many `elements`, 0 to `count`, in the device's current stream.
/// The host waits for nothing. @pre has_kernel<Kernel>(device)
template <typename Kernel>
void queue_kernel(at::Device device, std::int64_t count, std::int64_t elements, const Kernel& kernel) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel's object is copied to the device");
  detail::launch(device, detail::found_launch(device.type(), typeid(Kernel).name(), sizeof(Kernel)), &kernel,
                 count, elements);
}

}  // namespace riesz
