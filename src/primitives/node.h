// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "riesz/comm/layer_scope.h"

namespace torch::autograd {
struct AutogradContext;
}

namespace riesz::detail {

/// A node of autograd's graph: how outputs are computed from inputs, and the inputs' gradients from those of
/// the outputs. Only node.cpp includes autograd's headers, which are slow to compile.
///
/// What a node does in backward is of the layer in which it was recorded (`LayerScope`): what it sends counts
/// for it, and an exception names it. Its messages are in the stream of then, on whatever thread. A node is
/// made for one call, and recorded once.
class Node {
 public:
  virtual ~Node();

  /// The outputs. Gradients are not recorded inside.
  virtual std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) = 0;

  /// One gradient for each input, undefined where there is none; `gradients` has one for each output, zeros
  /// where autograd has none. What it computes is recorded in turn if second derivatives are asked for.
  virtual std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) = 0;

 protected:
  /// In `forward`, at most once: keeps tensors, inputs and outputs among them, until backward. Autograd lets
  /// go of them afterwards, and notices if one was written to in between.
  void save(const std::vector<at::Tensor>& tensors);
  /// In `backward`: what was saved, in the same order.
  std::vector<at::Tensor> saved() const;
  /// In `backward`: is the gradient of this input needed?
  bool needs_gradient(std::size_t input) const;
  /// In `backward`: a number of the backward that runs, another each time, also inside another.
  static int number_of_backward();

 private:
  friend struct Recorded;

  torch::autograd::AutogradContext* context_ = nullptr;  // while forward or backward runs
  std::vector<bool> given_;               // which inputs are defined: autograd sees these alone
  std::shared_ptr<const Origin> origin_;  // where it was recorded; nullptr: in no layer
  int stream_ = 0;                        // of messages, where it was recorded
};

/// The outputs of `node` for `inputs`, of which some may be undefined. It is recorded if gradients are
/// enabled and an input requires one.
std::vector<at::Tensor> record(std::shared_ptr<Node> node, const std::vector<at::Tensor>& inputs);

}  // namespace riesz::detail
