// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// True if nobody else can see a write to x's memory: this handle is the only one of x and of its memory, and
/// x is no leaf that is trained. Memory of the user's own, of which a tensor was made, is never held once.
/// Autograd then needs x's values no more: what a node saves holds its memory too.
inline bool held_once(const at::Tensor& x) {
  return x.use_count() == 1 && x.has_storage() && x.storage().use_count() == 1 && x.storage().resizable() &&
         !(x.is_leaf() && x.requires_grad());
}

}  // namespace riesz::detail
