// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/reading_leaf.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/Storage.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/compute_copy.h"

namespace riesz {
namespace {

/// The memory of these values, which lives as long as this does.
c10::DataPtr memory_of(const at::Tensor& values) {
  const auto let_go = [](void* kept) { delete static_cast<at::Tensor*>(kept); };
  return {values.data_ptr(), new at::Tensor(values.detach()), let_go, values.device()};
}

}  // namespace

// A tensor made of foreign memory has a storage and a count of writes of its own. Views and saved tensors
// have the same storage.
ReadingLeaf::ReadingLeaf(const at::Tensor& values)
    : leaf_(at::from_blob(
          values.data_ptr(), values.sizes(), values.strides(), [](void*) {},
          values.options().requires_grad(false), values.device())) {
  leaf_.requires_grad_();
  read(values);
}

void ReadingLeaf::read(const at::Tensor& values) const {
  RIESZ_CHECK(values.sizes() == leaf_.sizes() && values.strides() == leaf_.strides(), "a leaf of sizes ",
              leaf_.sizes(), " and strides ", leaf_.strides(), " cannot read values of ", values.sizes(),
              " and ", values.strides());
  detail::forget_compute_copies(leaf_);
  leaf_.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(memory_of(values));
}

}  // namespace riesz
