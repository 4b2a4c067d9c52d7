// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/module.h"

namespace riesz {

/// In training, each element is zero with probability p, else x/(1 − p); outside training the identity. The
/// mask is a function of (seed, this module's path, step, global index): the same at every layout, and on all
/// replicas. Part of an initialised model, or initialised by itself.
class Dropout : public Module {
 public:
  /// @throws Error unless 0 ≤ p < 1.
  Dropout(std::string name, double p);

  /// @throws Error where it is in no initialised model.
  Vector operator()(const Vector& x) const;
  /// Does it drop anything now? @throws Error as the call does.
  bool active() const { return training() && p_ > 0; }

  std::string describe() const override;

 private:
  double p_;
};

}  // namespace riesz
