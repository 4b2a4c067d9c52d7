// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Contractions that read one x alike gather it once and write the sum of their gradients in it once; the
// results are those of each by itself.
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "expect.h"
#include "of_one_x.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

/// What `A` sends when it is applied to doubles.
Traffic sent_by(const Operator& A) {
  const int rank = A.domain().partition().rank();
  Traffic traffic = rank < 0 ? Traffic{} : A.traffic(rank);
  traffic.bytes = 8 * traffic.elements;
  return traffic;
}

TEST(SharedRead, ThreeColumnParallelProductsCostOneAllReduce) {
  const std::int64_t p = all_workers().size(), n = 6 * 4 * p;
  const OfOneX s = column_parallel();
  const Outcome together = run(s, Handles::one), apart = run(s, Handles::each);
  expect_alike(together, apart);
  EXPECT_EQ(together.forward.elements, 0);
  EXPECT_EQ(together.backward.elements, 2 * (p - 1) * n / p);
  EXPECT_EQ(together.backward.bytes, 8 * together.backward.elements);
  EXPECT_EQ(together.backward.messages, p == 2 ? 1 : 2 * (p - 1));
  EXPECT_EQ(apart.backward.elements, 3 * together.backward.elements);
}

TEST(SharedRead, UnderSequenceParallelismXIsGatheredOnceAndItsGradientScatteredOnce) {
  const std::int64_t p = all_workers().size(), held = 3 * 8;
  const OfOneX s = sequence_parallel();
  const Outcome together = run(s, Handles::one), apart = run(s, Handles::each);
  expect_alike(together, apart);
  EXPECT_EQ(together.forward, (Traffic{(p - 1) * held, 8 * (p - 1) * held, p - 1}));
  EXPECT_EQ(together.backward, (Traffic{2 * (p - 1) * held, 16 * (p - 1) * held, 2 * (p - 1)}))
      << "x once again, and one sum";
  EXPECT_EQ(apart.forward.elements, 3 * together.forward.elements);
}

const std::vector<std::string> kSpecs{"bti,oi->bto", "bti,iqh->qbth", "bti,i->bti", "bti,bsi->bts",
                                      "bti,oi->bot"};

/// Three of one x, on random spaces of some of the workers.
OfOneX random_case(RandomSpaces& random, const std::vector<std::string>& specs) {
  const Partition grid = random.grid(some_workers(random));
  std::map<char, std::int64_t> extents;
  const auto place = [&](const std::string& letters) {
    std::vector<std::int64_t> shape;
    for (const char index : letters)
      shape.push_back(extents.try_emplace(index, 1 + random.any_of(6)).first->second);
    return random.place(Space(grid, shape), {Placement::Replicated, Placement::Copied, Placement::Partial});
  };
  const Space X = place("bti");
  std::vector<Space> Ws, Ys;
  for (const std::string& spec : specs) {
    const detail::Indices indices = detail::parse_indices(spec);
    Ws.push_back(place(indices[1]));
    Ys.push_back(place(indices[2]));
  }
  return of_one_x(X, specs, Ws, Ys);
}

/// What sharing saves: of all that read x by one operator, all but one's reading in forward, and reading and
/// writing in backward.
std::pair<Traffic, Traffic> saved(const OfOneX& s) {
  std::vector<Operator> reads;
  std::pair<Traffic, Traffic> sum;
  for (const Contraction& form : s.forms) {
    if (std::find(reads.begin(), reads.end(), form.read(0)) == reads.end()) {
      reads.push_back(form.read(0));
      continue;
    }
    sum.first += sent_by(form.read(0));
    sum.second += sent_by(form.read(0)) + sent_by(adjoint(form.read(0)));
  }
  return sum;
}

TEST(SharedRead, AtRandomPlacementsResultsAreThoseOfEachByItself) {
  RandomSpaces random(400 + static_cast<std::uint64_t>(all_workers().size()));
  bool shared = false;
  for (int round = 0; round < 24; ++round) {
    std::vector<std::string> specs;
    for (int i = 0; i < 3; ++i) specs.push_back(kSpecs[static_cast<std::size_t>(random.any_of(5))]);
    if (round % 2 == 0) specs[1] = specs[0];
    OfOneX s = random_case(random, specs);
    if (round % 2 == 0) {
      s.forms[1] = s.forms[0], s.ybars[1] = s.ybars[0];
      s.ws[1] = random_leaf(s.ws[0].space(), 77);
    }
    SCOPED_TRACE(to_string(s.forms[0]) + "\n" + to_string(s.forms[1]) + "\n" + to_string(s.forms[2]) +
                 "\nx in " + to_string(s.x.space()));
    const Outcome together = run(s, Handles::one), apart = run(s, Handles::each);
    const auto [forward, backward] = saved(s);
    expect_alike(together, apart);
    EXPECT_EQ(together.forward, apart.forward - forward);
    EXPECT_EQ(together.backward, apart.backward - backward);
    shared = shared || forward.elements + backward.elements > 0;
  }
  EXPECT_EQ(shared, all_workers().size() > 1);
}

TEST(SharedRead, AGraphThatIsKeptGoesBackAsOftenAsItIsAsked) {
  for (const OfOneX& s : {column_parallel(), sequence_parallel()}) {
    const Outcome once = run(s, Handles::one);
    Chain chain;
    const std::vector<Vector> ys = s.values(Handles::one);
    for (const bool again : {true, true, false}) {
      const Traffic before = Counters::instance().total();
      pull_back(ys, s.ybars, again);
      EXPECT_EQ(Counters::instance().total() - before, once.backward);
      expect_close(taken_gradients(s), once.gradients, 0);
    }
  }
}

/// What a backward that was cut short had summed is none of the next one's: torch's own can be asked for less
/// than all.
TEST(SharedRead, ABackwardThatEndsEarlyLeavesNothingToTheNext) {
  const OfOneX s = sequence_parallel();
  const Outcome once = run(s, Handles::one);
  Chain chain;
  const std::vector<Vector> ys = s.values(Handles::one);
  torch::autograd::grad({ys[2].local()}, {s.ws[2].local()}, {s.ybars[2].local()}, true);
  pull_back(ys, s.ybars);
  expect_close(taken_gradients(s), once.gradients, 0);
}

TEST(SharedRead, SecondDerivativesAreEachOnesOwn) {
  for (const OfOneX& s : {column_parallel(), sequence_parallel()}) {
    const Vector u = random_leaf(s.x.space(), 7);
    const auto second = [&](Handles handles) {
      Chain chain;
      const std::vector<Vector> ys = s.values(handles);
      const Vector y = ys[0] + ys[1];
      const Vector xbar = pullback(y, s.ybars[0], {s.x}, true).front();
      std::vector<at::Tensor> results{xbar.local().detach()};
      for (const Vector& g : pullback(xbar, u, {s.ws[0], s.ws[1]})) results.push_back(g.local());
      return results;
    };
    const std::vector<at::Tensor> together = second(Handles::one), apart = second(Handles::each);
    expect_close(together, apart);
    if (all_workers().rank() == 0) {
      EXPECT_GT(together[1].abs().sum().item<double>(), 0);
    }
  }
}

TEST(SharedRead, SomeGradientsMayNotBeNeededAndSomeResultsNotUsed) {
  for (const OfOneX& s : {column_parallel(), sequence_parallel()}) {
    const std::vector<at::Tensor> expected = run(s, Handles::each).gradients;
    for (const bool x_too : {true, false}) {
      SCOPED_TRACE(x_too ? "x" : "a w alone, on the first worker");
      Chain chain;
      s.x.local().requires_grad_(x_too);
      s.ws[1].local().requires_grad_(all_workers().rank() == 0);
      pull_back(s.values(Handles::one), s.ybars);
      s.x.local().requires_grad_(true);
      s.ws[1].local().requires_grad_(true);
      const std::vector<at::Tensor> gradients = taken_gradients(s);
      const bool of_w_too = all_workers().rank() == 0;
      expect_close({x_too ? gradients[0] : expected[0], gradients[1], of_w_too ? gradients[2] : expected[2],
                    gradients[3]},
                   expected);
    }
    Chain chain;  // y of the second is used nowhere, that of the third by the last worker alone
    std::vector<Vector> ys = s.values(Handles::one), ybars = s.ybars;
    ys.erase(ys.begin() + 1), ybars.erase(ybars.begin() + 1);
    if (all_workers().rank() + 1 < all_workers().size()) ys.pop_back(), ybars.pop_back();
    pull_back(ys, ybars);
    const std::vector<at::Tensor> gradients = taken_gradients(s);
    const bool last = all_workers().rank() + 1 == all_workers().size();
    expect_close(
        {gradients[1], gradients[2], gradients[3]},
        {expected[1], at::zeros_like(expected[2]), last ? expected[3] : at::zeros_like(expected[3])});
  }
}

}  // namespace
}  // namespace riesz::testing
