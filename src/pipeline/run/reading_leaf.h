// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// A leaf of autograd's without memory of its own: it reads now these values, now those. Nodes that were
/// recorded with it read them too: a backward pass takes the values that are read when it runs, and autograd
/// takes no notice of who writes to them. Its gradient is its own. Handles share one leaf.
class ReadingLeaf {
 public:
  /// Reads `values`, of which it has the shape and type.
  explicit ReadingLeaf(const at::Tensor& values);

  /// From now on it reads these, which it keeps alive. Copies nothing. @pre sizes, strides, type and device
  /// are those of the first ones.
  void read(const at::Tensor& values) const;
  const at::Tensor& tensor() const { return leaf_; }

 private:
  at::Tensor leaf_;
};

}  // namespace riesz
