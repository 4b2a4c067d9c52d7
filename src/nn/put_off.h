// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "riesz/nn/faces.h"

namespace riesz {

/// While one is open, contractions whose w is said to be a parameter (`ContractionOptions::w_is_parameter`,
/// which `Linear` sets) put their gradient in w off: backward goes on to what waits for it, and `compute`
/// makes up for it (the B and W of zero-bubble pipelines, Qi et al., 2401.10241). A scope of the thread,
/// around forward and backward; scopes nest. What is put off keeps x as given and ȳ as read. A `pullback` by
/// such a w inside sees no gradient. A backward after the scope's end puts nothing off.
///
///     PutOff later;
///     Chain chain;
///     backward(loss(model(x)));   // gradients of all but the weights
///     later.compute();
class PutOff {
 public:
  PutOff();
  ~PutOff();
  PutOff(const PutOff&) = delete;
  PutOff& operator=(const PutOff&) = delete;

  /// Adds all gradients put off so far to their weights', in the order of backward. Collective over the
  /// partitions of those contractions; what is not computed when the scope ends is dropped.
  void compute();
  /// Gradients put off and not yet computed.
  std::size_t size() const;

  struct Queue;
  /// The innermost scope's of this thread, or nullptr.
  static std::shared_ptr<Queue> current();

 private:
  std::shared_ptr<Queue> queue_;
  std::shared_ptr<Queue> outer_;
};

/// Has the queue's scope not ended yet? Afterwards nobody would compute what is put off.
bool is_open(PutOff::Queue& queue);

/// The gradient in w of a contraction, put off: from x and ȳ as stored, or as gathered where they are
/// already.
void put_off(PutOff::Queue& queue, const ContractionPlan& plan, const at::Tensor& w, Operands stored,
             Operands gathered);

}  // namespace riesz
