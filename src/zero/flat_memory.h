// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace riesz {

/// A flat tensor whose memory can be let go and taken again: what views it stays a view of it, and may be
/// read while it is there.
class FlatMemory {
 public:
  FlatMemory(std::int64_t elements, const at::TensorOptions& options);

  const at::Tensor& tensor() const { return tensor_; }
  bool there() const { return there_; }
  /// Takes memory, of any content, unless it is there.
  void take();
  void let_go();

 private:
  at::Tensor tensor_;
  bool there_ = true;
};

/// Elements [begin, …) of `flat` in this shape, row by row: a tensor of its own that shares the memory, a
/// leaf if it is to require gradients.
at::Tensor piece_of(const at::Tensor& flat, std::int64_t begin, at::IntArrayRef shape);

}  // namespace riesz
