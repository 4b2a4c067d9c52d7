// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/lifetimes.h"

#include "riesz/comm/error.h"

namespace riesz {

Lifetimes lifetimes_of(int stage) {
  using Values = Lifetimes::Values;
  using Gradients = Lifetimes::Gradients;
  RIESZ_CHECK(stage >= 0 && stage <= 3, "Zero: stage ", stage, "; there are 0 (data parallel), 1, 2 and 3");
  const Values values = stage == 0 ? Values::always : stage == 3 ? Values::a_use : Values::a_step;
  return {values, stage >= 2 ? Gradients::a_micro_batch : Gradients::a_step};
}

}  // namespace riesz
