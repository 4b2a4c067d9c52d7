// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/new_tensor.h"

#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/accumulate.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace riesz {
namespace {

#ifdef RIESZ_JEMALLOC

/// What jemalloc gives of more than 224 bytes is aligned to a line unasked. LibTorch asks, which takes longer,
/// and from 14 KiB on gives a thread other memory than it freed last. Up to 32 KiB jemalloc keeps that. The
/// memory profiler of LibTorch is not told.
class LastFreed final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes > kMore && bytes <= kMost) {
      void* memory = std::malloc(bytes);
      if (memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % c10::gAlignment == 0)
        return {memory, memory, std::free, c10::Device(c10::kCPU)};
      std::free(memory);
    }
    return c10::GetDefaultCPUAllocator()->allocate(bytes);
  }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static constexpr std::size_t kMore = 224, kMost = 32 << 10;
};

c10::Allocator* host_memory() {
  static LastFreed memory;
  c10::Allocator* const common = c10::GetCPUAllocator();
  return common == c10::GetDefaultCPUAllocator() ? &memory : common;
}

#else

c10::Allocator* host_memory() { return c10::GetCPUAllocator(); }

#endif

}  // namespace

at::Tensor new_tensor(at::IntArrayRef shape, const at::TensorOptions& options) {
  if (!options.device().is_cpu()) return at::empty(shape, options);
  const caffe2::TypeMeta type = options.dtype();
  const std::size_t bytes = static_cast<std::size_t>(c10::multiply_integers(shape)) * type.itemsize();
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                             host_memory(), /*resizable=*/true));
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), type);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(shape);
  return tensor;
}

}  // namespace riesz
