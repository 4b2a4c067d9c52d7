// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/layer_scope.h"

namespace riesz::detail {

class Recorded;

/// A node of autograd's graph: a function that computes outputs from inputs, and the inputs' gradients from
/// those of the outputs. This header includes none of autograd's, which are slow to compile.
///
/// In backward a node works for the layer in which it was recorded (`LayerScope`): its traffic counts there,
/// and an exception names that layer. Its messages are in the channel of its chain, on any thread. A node
/// is made for one call and recorded once.
class Node {
 public:
  virtual ~Node();

  /// The outputs. Gradients are not recorded inside.
  virtual std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) = 0;

  /// Returns one gradient for each input, undefined if there is none. `gradients` has one for each output,
  /// zeros if autograd has none. The computation is recorded if second derivatives are wanted.
  virtual std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) = 0;

  /// True if the node can recompute its one output from what it saves (`again`), in a pass or two over
  /// memory. Consumers then do not save that output. In `again` the first input is as it was; the node saves
  /// copies of any others that lie in lent memory. If one reader's backward frees the graph, another reader's
  /// backward fails.
  virtual bool gives_again() const { return false; }
  /// In another's backward: the output, with the bits that `forward` gave. It is recorded if second
  /// derivatives are wanted.
  virtual at::Tensor again();

 protected:
  /// In `forward`, at most once: saves tensors for backward, inputs and outputs too. Autograd frees them
  /// afterwards, and notices if one was written in between.
  void save(const std::vector<at::Tensor>& tensors);
  /// In `forward`, at most once, beside `save`: saves x as it is cast. Where x comes from a node that gives
  /// it again, that node alone is kept, and x and its cast are not. @pre `cast` is an input; it may be x
  void save_given(const at::Tensor& x, const at::Tensor& cast);
  /// In `backward`: that x, of that type. It is made anew where it is not kept and nobody else holds it: once
  /// in a backward, for all nodes that need it. An edit of x meanwhile is an error, or changes nothing.
  at::Tensor given() const;
  /// In `backward`: what was saved, in the same order.
  std::vector<at::Tensor> saved() const;
  /// In `backward`: the same, and if this is the last backward (the graph is not kept), the node lets go of
  /// them. So a tensor that nobody else holds is the caller's alone. At most once, and not after `saved`.
  std::vector<at::Tensor> take_saved() const;
  /// In `backward`: true if the gradient of this input is needed.
  bool needs_gradient(std::size_t input) const;
  /// In `backward`: LibTorch's id of the backward that runs; a nested backward has its own. It is not the
  /// number that `next_backward` gives.
  static int number_of_backward();

 private:
  friend class Recorded;

  void forget_forward();

  Recorded* recorded_ = nullptr;          // while backward runs
  std::vector<bool> given_;               // which inputs are defined: autograd sees these alone
  std::vector<at::Tensor> to_save_;       // from `save` until forward ends
  at::Tensor given_x_, given_cast_;       // likewise
  std::shared_ptr<const Origin> origin_;  // where it was recorded; nullptr: in no layer
  int channel_ = 0;                       // of messages, where it was recorded
};

/// The outputs of `node` for `inputs`, of which some may be undefined. It is recorded if gradients are
/// enabled and an input requires one.
std::vector<at::Tensor> record(std::shared_ptr<Node> node, const std::vector<at::Tensor>& inputs);

/// True if x lies in memory that its owner may move or free before backward, such as a parameter of `Zero`.
bool lies_in_lent_memory(const at::Tensor& x);

/// A tensor without elements at which a graph begins. It requires a gradient and is no leaf, so autograd
/// stores no gradient in it.
at::Tensor beginning(const at::TensorOptions& options);

/// A number for a backward that begins now, in any thread. Nodes note the last one when they have gone back,
/// so those of this backward can be told from those of one before through the same graph.
std::uint64_t next_backward();

/// For an error message: the layer in which the backward with this number has thrown, from these outputs. If
/// one of our nodes threw, that is its layer. If one of LibTorch's did, it lies between two layers, and both
/// are named. Empty if there is none. It walks the graph, which may be kept or freed, so it works whatever
/// thread the backward ran on.
std::string layer_of_failed_backward(const std::vector<at::Tensor>& outputs, std::uint64_t number);

/// True if both were given by one recorded call: what goes back from one of them reaches that call.
bool of_one_call(const at::Tensor& a, const at::Tensor& b);

}  // namespace riesz::detail
