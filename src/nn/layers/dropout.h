// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/module.h"

namespace riesz {

namespace detail {
struct DropoutDraws;
}

/// Dropout: in training each element x becomes zero with probability p, else x/(1 − p); outside training
/// nothing changes. The mask is a function of the context's seed and step, of this module's path, and of the
/// element's index in the global batch. So it is the same at every layout, for every number of micro-batches
/// and on all replicas. The first dim of x is the batch; the context says which rows of the global batch
/// these are.
class Dropout : public Layer<Dropout> {
 public:
  /// @throws Error unless 0 ≤ p < 1.
  Dropout(OwnerAndName place, double p);
  Dropout(Module& owner, const std::string& name, double p) : Dropout({owner, name}, p) {}

  /// In training @throws Error on a Partial vector. Where p > 0, @throws Error without a context, or if the
  /// batch exceeds its rows.
  Vector forward(const Vector& x) const;

  /// Would a call made now drop elements?
  /// @throws Error where p > 0 and there is no context.
  bool active() const;
  /// What a call made now draws for the part of a vector of this global shape that the boxes hold.
  /// @pre `active()`. @throws Error if the rows exceed the context's batch.
  detail::DropoutDraws drawn(const std::vector<std::int64_t>& shape, const Boxes& boxes) const;

  bool draws() const override { return p_ > 0; }
  std::string describe() const override;

 private:
  std::string named_;  // in errors
  double p_;
};

}  // namespace riesz
