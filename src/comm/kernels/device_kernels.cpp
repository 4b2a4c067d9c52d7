// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/kernels/device_kernels.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <array>
#include <atomic>

#include "riesz/comm/error.h"
#include "riesz/comm/without_values.h"

namespace riesz {
namespace {

std::array<std::atomic<const KernelLibrary*>, at::COMPILE_TIME_MAX_DEVICE_TYPES> kernels_by_type{};

}  // namespace

const KernelLibrary* kernel_library_for(at::DeviceType type) {
  return kernels_by_type.at(static_cast<std::size_t>(type)).load(std::memory_order_acquire);
}

const KernelLibrary* set_kernel_library_for(at::DeviceType type, const KernelLibrary* library) {
  return kernels_by_type.at(static_cast<std::size_t>(type)).exchange(library);
}

Launch detail::found_launch(at::DeviceType type, const char* kernel, std::size_t size) {
  const KernelLibrary* const library = kernel_library_for(type);
  if (library == nullptr) return nullptr;
  std::size_t its_size = 0;
  const Launch function = library->find(kernel, &its_size);
  RIESZ_CHECK(function == nullptr || its_size == size, library->name, ": its kernel ", kernel, " takes ",
              its_size, " bytes, where this program gives ", size,
              "; it is of another build: build both together");
  return function;
}

void detail::launch(at::Device device, Launch function, const void* kernel, std::int64_t count,
                    std::int64_t elements) {
  if (count == 0 || !has_values()) return;
  RIESZ_CHECK(function != nullptr, "a kernel is queued on ", device, ", whose library has none of that name");
  const c10::DeviceGuard there(device);  // a default stream has no device of its own
  void* const stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
  const char* const wrong = function(kernel, count, elements, stream);
  RIESZ_CHECK(wrong == nullptr, "a kernel on ", device, ": ", wrong);
}

}  // namespace riesz
