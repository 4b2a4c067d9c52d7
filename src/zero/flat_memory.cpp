// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/flat_memory.h"

#include <ATen/ops/empty.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/accumulate.h>
#include <c10/util/strides.h>

#include <utility>

namespace riesz {

FlatMemory::FlatMemory(std::int64_t elements, const at::TensorOptions& options)
    : tensor_(at::empty({elements}, options)) {}

void FlatMemory::take() {
  if (there_) return;
  c10::StorageImpl* storage = tensor_.storage().unsafeGetStorageImpl();
  const std::size_t bytes = static_cast<std::size_t>(tensor_.numel()) * tensor_.element_size();
  storage->set_data_ptr_noswap(storage->allocator()->allocate(bytes));
  storage->set_nbytes(bytes);
  there_ = true;
}

void FlatMemory::let_go() {
  if (!there_) return;
  c10::StorageImpl* storage = tensor_.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(at::DataPtr(nullptr, storage->device()));
  storage->set_nbytes(0);
  there_ = false;
}

at::Tensor piece_of(const at::Tensor& flat, std::int64_t begin, at::IntArrayRef shape) {
  at::Tensor piece = at::empty({0}, flat.options().requires_grad(false));
  return piece.set_(flat.storage(), flat.storage_offset() + begin, shape, c10::contiguous_strides(shape));
}

}  // namespace riesz
