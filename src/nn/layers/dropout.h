// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/module.h"

namespace riesz {

/// In training, each element is zero with probability p, else x/(1 − p); outside training the identity. The
/// mask is a function of the context's seed and step, this module's path, and the element's index in the
/// global batch, of which x's first dim is the rows that the context says: the same at every layout and for
/// every number of micro-batches, and on all replicas.
class Dropout : public Layer<Dropout> {
 public:
  /// @throws Error unless 0 ≤ p < 1.
  Dropout(Part part, double p);
  Dropout(Module& owner, const std::string& name, double p) : Dropout({owner, name}, p) {}

  /// @throws Error where p > 0 and the call has no context, or its batch is not among the context's rows.
  Vector forward(const Vector& x) const;

  /// Does it drop anything now? @throws Error where p > 0 and there is no context.
  bool active() const;
  /// What a call made now multiplies by, for some boxes of a global shape, in their local order: 0 where it
  /// drops, 1/(1 − p) elsewhere.
  at::Tensor mask(const std::vector<std::int64_t>& shape, const Boxes& boxes,
                  const at::TensorOptions& options) const;

  std::string describe() const override;

 private:
  double p_;
};

}  // namespace riesz
