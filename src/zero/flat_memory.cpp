// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/flat_memory.h"

#include <ATen/ops/empty.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/accumulate.h>
#include <c10/util/strides.h>

namespace riesz {

void take_memory(const at::Tensor& flat) {
  c10::StorageImpl* storage = flat.storage().unsafeGetStorageImpl();
  const std::size_t bytes = static_cast<std::size_t>(flat.numel()) * flat.element_size();
  if (storage->nbytes() == bytes) return;
  storage->set_data_ptr_noswap(storage->allocator()->allocate(bytes));
  storage->set_nbytes(bytes);
}

void let_memory_go(const at::Tensor& flat) {
  c10::StorageImpl* storage = flat.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(at::DataPtr(nullptr, storage->device()));
  storage->set_nbytes(0);
  storage->set_resizable(false);  // it is lent from now on (`lies_in_lent_memory`)
}

at::Tensor piece_of(const at::Tensor& flat, std::int64_t begin, at::IntArrayRef shape) {
  at::Tensor piece = at::empty({0}, flat.options().requires_grad(false));
  return piece.set_(flat.storage(), flat.storage_offset() + begin, shape, c10::contiguous_strides(shape));
}

}  // namespace riesz
