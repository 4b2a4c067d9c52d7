// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "riesz/testing/pretend_device/copies.h"
#include "riesz/testing/pretend_device/device_memory.h"
#include "riesz/testing/pretend_device/fallback.h"
#include "riesz/testing/pretend_device/generator.h"
#include "riesz/testing/pretend_device/guard.h"
#include "riesz/testing/pretend_device/pinned_memory.h"

namespace riesz::testing {
namespace pretend {
namespace {

/// What autograd's engine, storages that grow and pinned tensors ask a device for.
struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  void init() const override {}
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  at::Device getDeviceFromPtr(void*) const override { return pretend_device(); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override { return generator(); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_memory(); }
  bool isPinnedPtr(const void* address) const override { return is_pinned_address(address); }

  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    c10::DataPtr grown = device_memory().allocate(bytes);
    device_memory().copy_data(grown.get(), storage.data(), std::min(bytes, storage.nbytes()));
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(grown));
    storage.set_nbytes(bytes);
  }
};

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

at::Tensor empty(at::IntArrayRef shape, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(shape, &device_memory(), kKeys, c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(at::IntArrayRef shape, at::IntArrayRef strides, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(shape, strides, &device_memory(), kKeys,
                                           c10::dtype_or_default(type));
}

void record_stream(at::Tensor& x, c10::Stream user) {
  device_memory().recordStream(x.storage().data_ptr(), user);
}

const bool registered = [] {
  c10::register_privateuse1_backend("pretend");
  c10::SetAllocator(c10::DeviceType::PrivateUse1, &device_memory());
  at::RegisterPrivateUse1HooksInterface(new Hooks);  // as long as the process
  c10::impl::registerDeviceGuard(c10::DeviceType::PrivateUse1, &guard());
  return true;
}();

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_copy_from", copy_from);
  library.impl("record_stream", record_stream);
  library.impl("resize_", TORCH_FN(at::native::resize_));
  library.impl("set_.source_Storage", TORCH_FN(at::native::set_));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(at::native::set_storage_cpu_));
  library.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  library.impl("view", TORCH_FN(at::native::view));
  library.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  library.impl("unfold", TORCH_FN(at::native::unfold));
  library.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  library.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
  // Else it is done by one whose output grows and shrinks again, which the memory of a block cannot.
  library.impl("mse_loss", torch::CppFunction::makeFromBoxedFunction<&run_on_stream>());
  // LibTorch has kernels of these for every device, which refuse.
  for (const char* name : {"convolution_overrideable", "convolution_backward_overrideable"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_stream>());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_stream>());
}

// A copy resolves what is put off; to resolve it is a copy.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

}  // namespace
}  // namespace pretend

at::Device pretend_device() { return {c10::DeviceType::PrivateUse1, 0}; }

}  // namespace riesz::testing
