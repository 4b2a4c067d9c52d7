// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/alongside.h"
#include "riesz/nn/module.h"

namespace riesz {

/// y = (x − mean(x))/√(var(x) + ε)·weight + bias over the last dim, from X to itself (Ba et al., 1607.06450). The last
/// dim is whole on each worker; weight and bias are Replicated, and their gradients are summed over the axes that
/// shard the other dims.
/// @throws Error naming the space and axis if the last dim is sharded, or a dim is Partial.
class LayerNorm : public Module {
 public:
  LayerNorm(std::string name, const Space& X, double epsilon = 1e-5);

  Vector operator()(const Vector& x);

  std::string describe() const override;

 private:
  Space domain_;
  double epsilon_;
  Parameter weight_;
  Parameter bias_;
  Alongside beside_;
};

}  // namespace riesz
