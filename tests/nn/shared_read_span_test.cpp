// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// How long contractions of one x share what they read, and what options have to do with it.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <vector>

#include "expect.h"
#include "of_one_x.h"
#include "riesz/nn/call_scope.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

TEST(SharedReadSpan, GradientsOfWeightsThatArePutOffReadXOnceToo) {
  const std::int64_t p = all_workers().size(), held = 3 * 8;
  const OfOneX s = sequence_parallel({.w_is_parameter = true});
  const Outcome now = run(s, Handles::one);
  DeferredGradients later;
  Chain chain;
  const std::vector<Vector> ys = s.values(Handles::one);
  const Traffic start = Counters::instance().total();
  pull_back(ys, s.ybars);
  const Traffic middle = Counters::instance().total();
  EXPECT_EQ(later.size(), 3U);
  later.compute();
  EXPECT_EQ((middle - start).elements, (p - 1) * held) << "one sum";
  EXPECT_EQ((Counters::instance().total() - middle).elements, (p - 1) * held) << "one reading";
  expect_close(taken_gradients(s), now.gradients);
}

TEST(SharedReadSpan, PanelsAreEachOnesOwnAndWhatIsKeptIsNotReadAgain) {
  const std::int64_t p = all_workers().size(), held = 3 * 8;
  const OfOneX panels = sequence_parallel({.rounds = 2});
  const Outcome one = run(panels, Handles::one), each = run(panels, Handles::each);
  expect_alike(one, each);
  EXPECT_EQ(one.forward + one.backward, each.forward + each.backward);
  const OfOneX kept = sequence_parallel({.keep_x = true});
  const Outcome together = run(kept, Handles::one);
  expect_alike(together, run(kept, Handles::each));
  EXPECT_EQ(together.forward.elements, (p - 1) * held);
  EXPECT_EQ(together.backward.elements, (p - 1) * held);
}

TEST(SharedReadSpan, NothingIsSharedAcrossChainsOrRecordings) {
  const OfOneX s = sequence_parallel();
  const std::int64_t p = all_workers().size(), held = 3 * 8;
  const auto sent = [&](std::size_t i) {
    const Traffic before = Counters::instance().total();
    s.forms[i](s.x, s.ws[i]);
    return (Counters::instance().total() - before).elements;
  };
  Chain outer;
  EXPECT_EQ(sent(0), (p - 1) * held);
  EXPECT_EQ(sent(1), 0);
  {
    Chain inner;
    EXPECT_EQ(sent(1), (p - 1) * held);
    EXPECT_EQ(sent(2), 0);
  }
  outer.restart();
  EXPECT_EQ(sent(2), (p - 1) * held);
}

TEST(SharedReadSpan, WithoutGradientsXIsGatheredOnceInOneCallOfALayer) {
  const OfOneX s = sequence_parallel();
  const std::int64_t p = all_workers().size(), held = 3 * 8;
  const at::NoGradGuard no_gradient;
  const auto sent = [&] {
    const Traffic before = Counters::instance().total();
    s.values(Handles::one);
    return (Counters::instance().total() - before).elements;
  };
  EXPECT_EQ(sent(), 3 * (p - 1) * held);
  for (int call = 0; call < 2; ++call) {
    const CallScope block(nullptr);
    const CallScope inner(nullptr);
    EXPECT_EQ(sent(), (p - 1) * held);
  }
}

TEST(SharedReadSpan, WhatIsGatheredLivesWithTheHandlesOfXAndNotUntilBackward) {
  const OfOneX s = sequence_parallel();
  const std::int64_t p = all_workers().size(), gathered = p > 1 ? 8 * 3 * p * 8 : 0;
  Chain chain;
  const MemoryMeter meter;
  std::vector<Vector> ys;
  {
    const Vector x(s.x.space(), s.x.local());
    for (std::size_t i = 0; i < 3; ++i) ys.push_back(s.forms[i](x, s.ws[i]));
    EXPECT_EQ(MemoryMeter::alive(), 3 * 8 * 3 * p * 2 + gathered);
  }
  EXPECT_EQ(MemoryMeter::alive(), 3 * 8 * 3 * p * 2);
  pull_back(ys, s.ybars);
  taken_gradients(s);
  EXPECT_EQ(MemoryMeter::alive(), 3 * 8 * 3 * p * 2);
}

TEST(SharedReadSpan, AnXThatChangedMeanwhileIsAnError) {
  if (all_workers().size() == 1) return;
  const OfOneX s = column_parallel();
  for (const bool written : {true, false}) {
    Chain chain;
    const Vector x(s.x.space(), s.x.local().detach().clone());
    s.forms[0](x, s.ws[0]);
    written ? x.local().mul_(2) : x.local().requires_grad_();
    EXPECT_ERROR(s.forms[1](x, s.ws[1]), "contract: x, in", to_string(s.x.space()),
                 "was written to, or began to require a gradient", "Vector(x.space(), x.local())");
    EXPECT_NO_THROW(s.forms[1](Vector(x.space(), x.local()), s.ws[1]));
  }
  const OfOneX whole = sequence_parallel(), panels = sequence_parallel({.rounds = 2});
  const at::NoGradGuard no_gradient;
  const CallScope layer(nullptr);
  const Vector x(whole.x.space(), whole.x.local().detach().clone());
  const at::Tensor before = panels.forms[0](x, whole.ws[0]).local();
  whole.forms[0](x, whole.ws[0]);
  x.local().mul_(2);
  expect_close({panels.forms[0](x, whole.ws[0]).local()}, {before.mul(2)});  // shares nothing
}

}  // namespace
}  // namespace riesz::testing
