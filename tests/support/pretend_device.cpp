// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace riesz::testing {
namespace {

/// The device's address of a byte is so far from the host's. No process has memory there: bit 55 is beyond
/// the addresses that systems give, and not among those that a processor may ignore.
constexpr std::uintptr_t kApart = std::uintptr_t{1} << 55;
constexpr std::size_t kAligned = 64;

void* on_device(void* host) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(host) + kApart);
}

void* on_host(const void* device) {
  if (device == nullptr) return nullptr;
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(device) - kApart);
}

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, pretend_device()};
    void* device = on_device(std::aligned_alloc(kAligned, (bytes + kAligned - 1) / kAligned * kAligned));
    return {device, device, [](void* block) { std::free(on_host(block)); }, pretend_device()};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    if (bytes > 0) std::memcpy(on_host(to), on_host(from), bytes);
  }
};

Memory memory;

/// One device with one stream, which is always done.
struct Guard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1> {
  c10::Device exchangeDevice(c10::Device) const override { return pretend_device(); }
  c10::Device getDevice() const override { return pretend_device(); }
  c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream(); }
  void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }

 private:
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, pretend_device()); }
};

/// What autograd's engine and storages that grow ask a device for.
struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  at::Device getDeviceFromPtr(void*) const override { return pretend_device(); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return c10::GetDefaultCPUAllocator(); }
  /// at::manual_seed seeds every device's; this one's numbers are drawn on the host.
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return at::detail::getDefaultCPUGenerator();
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    c10::DataPtr grown = memory.allocate(bytes);
    memory.copy_data(grown.get(), storage.data(), std::min(bytes, storage.nbytes()));
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(grown));
    storage.set_nbytes(bytes);
  }
};

/// A tensor of the device as one of the CPU, with the same memory, for its kernels alone.
at::Tensor host_view(const at::Tensor& x) {
  if (!x.device().is_privateuseone()) return x;
  const at::Tensor view =
      at::from_blob(on_host(x.data_ptr()), x.sizes(), x.strides(), x.options().device(at::kCPU));
  view._set_conj(x.is_conj());
  view._set_neg(x.is_neg());
  return view;
}

at::Tensor empty(at::IntArrayRef shape, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(shape, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(at::IntArrayRef shape, at::IntArrayRef strides, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(shape, strides, &memory,
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(type));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  const at::AutoDispatchBelowADInplaceOrView below;
  host_view(to).copy_(host_view(from));
  return to;
}

/// An operation without a kernel here: the CPU's, on the same memory.
class HostCall {
 public:
  HostCall(const c10::OperatorHandle& operation, torch::jit::Stack& stack)
      : operation_(operation), stack_(stack), given_(torch::jit::last(stack, count()).vec()) {
    for (std::size_t i = 0; i < given_.size(); ++i) argument(i) = as_host(i);
    on_host_ = torch::jit::last(stack, count()).vec();
  }

  void run() {
    operation_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack_);
    for (const auto& [x, made] : grown_) {
      if (made.sizes() != x.sizes()) x.resize_(made.sizes());
      host_view(x).copy_(made);
    }
    const std::size_t results = operation_.schema().returns().size();
    for (std::size_t i = 0; i < results; ++i) {
      c10::IValue& result = stack_[stack_.size() - results + i];
      result = as_device(i, result);
    }
  }

 private:
  std::size_t count() const { return operation_.schema().arguments().size(); }
  c10::IValue& argument(std::size_t i) { return stack_[stack_.size() - given_.size() + i]; }

  bool written(std::size_t i) const {
    const c10::AliasInfo* alias = operation_.schema().arguments()[i].alias_info();
    return alias != nullptr && alias->isWrite();
  }

  at::Tensor as_host(const at::Tensor& x, bool written) {
    if (!x.defined()) return x;
    TORCH_CHECK(x.device().is_privateuseone() || x.dim() == 0, operation_.operator_name(),
                " takes tensors of ", pretend_device(), " and one of ", x.device(),
                "; all must be on one device");
    if (!written || x.numel() > 0) return host_view(x);
    grown_.emplace_back(x, at::empty(x.sizes(), x.options().device(at::kCPU)));  // it may be made larger
    return grown_.back().second;
  }

  c10::IValue as_host(std::size_t i) {
    const c10::IValue& value = given_[i];
    if (value.isTensor()) return as_host(value.toTensor(), written(i));
    if (value.isDevice()) return c10::Device(at::kCPU);
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& x : value.toTensorVector()) list.push_back(as_host(x, written(i)));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& x : value.toOptionalTensorVector())
        list.push_back(x ? std::optional(as_host(*x, written(i))) : std::nullopt);
      return list;
    }
    return value;
  }

  c10::IValue as_device(std::size_t i, const c10::IValue& result) const {
    const c10::AliasInfo* alias = operation_.schema().returns()[i].alias_info();
    for (std::size_t k = 0; alias != nullptr && k < given_.size(); ++k) {
      const c10::AliasInfo* of_argument = operation_.schema().arguments()[k].alias_info();
      if (of_argument != nullptr && *of_argument == *alias && alias->isWrite()) return given_[k];
    }
    TORCH_CHECK(alias == nullptr, operation_.operator_name(), " gives a view; ", pretend_device(),
                " needs a kernel of its own for it");
    if (result.isTensor() && result.toTensor().defined()) return result.toTensor().to(pretend_device());
    if (!result.isTensorList()) return result;
    c10::List<at::Tensor> list;
    for (const at::Tensor& x : result.toTensorVector()) list.push_back(x.to(pretend_device()));
    return list;
  }

  const c10::OperatorHandle& operation_;
  torch::jit::Stack& stack_;
  std::vector<c10::IValue> given_;
  std::vector<c10::IValue> on_host_;  // what an operation with several `out` gives are references to these
  std::vector<std::pair<at::Tensor, at::Tensor>> grown_;
};

void run_on_host(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  const at::AutoDispatchBelowADInplaceOrView below;
  HostCall(operation, *stack).run();
}

const bool registered = [] {
  c10::register_privateuse1_backend("pretend");
  c10::SetAllocator(c10::DeviceType::PrivateUse1, &memory);
  at::RegisterPrivateUse1HooksInterface(new Hooks);  // as long as the process
  c10::impl::registerDeviceGuard(c10::DeviceType::PrivateUse1, new Guard);
  return true;
}();

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_copy_from", copy_from);
  library.impl("resize_", TORCH_FN(at::native::resize_));
  library.impl("set_.source_Storage", TORCH_FN(at::native::set_));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(at::native::set_storage_cpu_));
  library.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  library.impl("view", TORCH_FN(at::native::view));
  library.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  library.impl("unfold", TORCH_FN(at::native::unfold));
  library.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  library.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
}

// A copy resolves what is put off; to resolve it is a copy.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

}  // namespace

at::Device pretend_device() { return {c10::DeviceType::PrivateUse1, 0}; }

}  // namespace riesz::testing
