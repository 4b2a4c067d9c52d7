// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "riesz/nn/module.h"
#include "riesz/zero/zero.h"

namespace riesz {

/// Where a model's state lies: a `Zero` for the parameters of each stage, and one store of all of them; one
/// `Zero` for a model that is not placed. The workers of all stages make all of them, in one order.
class StageZeros {
 public:
  /// Takes over the parameters' values, as `Zero` does. Collective over the workers of all stages.
  StageZeros(const Module& model, const ZeroOptions& options);

  /// Micro-batch i of the `of` in a step begins (`Zero::begin`). Not needed where a step is one run of a
  /// pipeline, which says itself how many it has.
  void begin(std::int64_t i, std::int64_t of);

  std::shared_ptr<Store> store() const { return store_; }
  void set_reducing(bool reducing);
  /// The holdings of all.
  Holdings holdings() const;

 private:
  std::deque<Zero> all_;
  std::shared_ptr<Store> store_;
};

}  // namespace riesz
