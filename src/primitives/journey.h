// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/layer_scope.h"
#include "riesz/comm/progress.h"
#include "riesz/primitives/operator.h"

namespace riesz {

/// One application of an operator under way: the flights of its steps, one after another. All are made at the
/// start, so that their messages have their places in the program's order; then whoever asks moves it on, the
/// one who waits and the background. Steps that can only be applied at once, and all before them, are done at
/// the start.
class Journey final : public Activity {
 public:
  Journey(const Operator& A, const at::Tensor& x);

  /// Waits for the end; y. @throws what went wrong on the way.
  at::Tensor result();

 private:
  struct Leg {
    Step step;
    std::unique_ptr<Flight> flight;  // nullptr: a step that moves nothing
    bool mine;                       // does this worker take part?
  };

  bool go_on() override;
  const std::string& operation() const override;
  std::vector<int> waits_for() const override;
  bool leg_done();
  void begin_leg();

  /// What is sent lies in x until then. @throws Error where x was written.
  void check_unwritten() const;

  Operator A_;
  std::vector<Leg> legs_;
  std::size_t next_ = 0;
  at::Tensor y_;         // so far
  at::Tensor x_, copy_;  // where workers compare: x, and what it was at the start
  std::function<bool()>
      written_;  // else, where x has its memory alone: its version tells, and x need not live
  std::shared_ptr<const Origin> origin_ = LayerScope::current();  // where it was started
};

}  // namespace riesz
