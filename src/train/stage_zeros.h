// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "riesz/nn/module.h"
#include "riesz/zero/zero.h"

namespace riesz {

/// A model's state by stages: a `Zero` for the parameters of each, which lie where it does, and one store of
/// all; of a model that is not placed, one. The stages' workers all make all of it, in one order.
class StageZeros {
 public:
  /// Takes over the parameters' values, as `Zero` does. Collective over the workers of all stages.
  StageZeros(const Module& model, const ZeroOptions& options);

  /// Micro-batch i of a step of `of` begins (`Zero::begin`), of which `at_once` at a time go through a
  /// pipeline: that goes through a parameter that is lent to another stage once more each time, after all of
  /// its micro-batches, to bring the gradient that has come there. 0: there is no pipeline.
  void begin(std::int64_t i, std::int64_t of, std::int64_t at_once);

  std::shared_ptr<Store> store() const { return store_; }
  void set_reducing(bool reducing);
  /// Of all.
  Holdings holdings() const;

 private:
  struct One {
    One(const std::vector<Parameter>& parameters, const ZeroOptions& options, bool is_lender)
        : lends(is_lender), zero(parameters, options) {}
    bool lends;  // has it a parameter that another stage uses?
    Zero zero;
  };
  std::deque<One> all_;
  std::shared_ptr<Store> store_;
};

}  // namespace riesz
