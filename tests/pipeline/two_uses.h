// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A weight that one of two stages lends to the other.
#pragma once

#include <ATen/ops/full.h>

#include <cstdint>

#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/nn/vectors/reduce.h"

namespace riesz::testing {

/// x → (x w + b) w in bf16, where w is all ones: a use on each of two stages, which share out the job's
/// workers, each along dp.
class TwoUses : public Layer<TwoUses> {
 public:
  TwoUses(std::int64_t width, bool bias)
      : Layer("", ModelSpaces(stages(width))),
        width_(width),
        first_(*this, "first", "bc,cf->bf", {.initial = Initial::ones(), .bias = bias}) {
    initialise(3, at::kBFloat16);
  }
  Vector forward(const Vector& x) { return second_(first_(x)); }
  /// The sum of what comes of rows of this value, one for each worker of a stage.
  Vector sum_of_rows(double value) {
    const std::int64_t rows = Runtime::size() / 2;
    const Space X = spaces().stream("bc").with_shape({rows, width_});
    return sum((*this)(distribute(X, at::full({rows, width_}, value, at::kBFloat16))), {},
               {.all_reduce = true});
  }
  std::string describe() const override { return "two uses"; }

 private:
  static Stages stages(std::int64_t width) {
    const Partition mesh = Partition::world().grid({{"pp", 2}, {"dp", Runtime::size() / 2}});
    const Roles letters{{'b', {Role::batch}}, {'c', {Role::width, width}}, {'f', {Role::whole, width}}};
    return Stages({spaces::one_d(mesh.at("pp", 0)), spaces::one_d(mesh.at("pp", 1))}, letters,
                  {{"second", 1}});
  }

  std::int64_t width_;
  Linear first_;
  Linear second_{*this, "second", "bc,cf->bf", {.bias = false, .weight = &first_.weight()}};
};

}  // namespace riesz::testing
