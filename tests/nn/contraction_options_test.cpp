// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What a contraction may do beyond its rule: panels, keeping, putting off, the cheapest plan. The results are
// the same.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/einsum.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "expect.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/contraction/plan.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

struct Layout {
  std::string name;
  Space X, W, Y;
};

/// All workers as q1 x q2, as square as they go.
Partition square() {
  int q1 = 1;
  for (int q = 1; q * q <= Partition::world().size(); ++q) q1 = Partition::world().size() % q == 0 ? q : q1;
  return Partition::world().grid({{"q1", q1}, {"q2", Partition::world().size() / q1}});
}

/// (5, 13) x (7, 13) -> (5, 7) in all ways that gather or scatter something; also with empty shards.
std::vector<Layout> layouts(std::int64_t b = 5, std::int64_t i = 13, std::int64_t o = 7) {
  const Partition mesh = square();
  const Space X(mesh, {b, i}), W(mesh, {o, i}), Y(mesh, {b, o});
  const int p = mesh.extent("q2");
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(p), 0);
  sizes.back() = i;  // the last worker holds all
  return {{"2D", X.sharded(0, "q1").sharded(1, "q2"), W.sharded(1, "q1").sharded(0, "q2"),
           Y.sharded(0, "q1").sharded(1, "q2")},
          {"sequence parallel up", X.sharded(0, "q2"), W.sharded(0, "q2"), Y.sharded(1, "q2")},
          {"sequence parallel down", X.sharded(1, "q2"), W.sharded(1, "q2"), Y.sharded(0, "q2")},
          {"FSDP", X.sharded(0, "q2"), W.sharded(1, "q2"), Y.sharded(0, "q2")},
          {"row", X.sharded(1, "q2"), W.sharded(1, "q2"), Y},
          {"sizes", X.sharded(1, "q2", Split::sizes(sizes)), W.sharded(0, "q2"), Y.sharded(1, "q2")}};
}

/// Value and both gradients, with what each part of it moved.
struct Result {
  Vector y;
  std::vector<Vector> gradients;
  Traffic forward, backward;
};

Result run(const Layout& layout, const ContractionOptions& options) {
  const auto [name, X, W, Y] = layout;
  const Vector x = leaf(X, draws(X.shape(), 1));
  const Vector w = leaf(W, draws(W.shape(), 2));
  Chain chain;
  const Traffic start = Counters::instance().total();
  const Vector y = contract("bi,oi->bo", x, w, Y, options);
  const Traffic middle = Counters::instance().total();
  const std::vector<Vector> gradients = pullback(y, distribute(dual(Y), draws(Y.shape(), 3)), {x, w});
  return {y, gradients, middle - start, Counters::instance().total() - middle};
}

void expect_dense(const Result& result, const Layout& layout) {
  const at::Tensor x = draws(layout.X.shape(), 1), w = draws(layout.W.shape(), 2),
                   ybar = draws(layout.Y.shape(), 3);
  EXPECT_TRUE(means(result.y, at::einsum("bi,oi->bo", {x, w})));
  EXPECT_TRUE(means(result.gradients[0], at::einsum("bo,oi->bi", {ybar, w})));
  EXPECT_TRUE(means(result.gradients[1], at::einsum("bo,bi->oi", {ybar, x})));
}

TEST(ContractionOptions, RoundsChangeNeitherResultsNorElements) {
  for (const Layout& layout : layouts()) {
    const Result whole = run(layout, {});
    for (const int rounds : {2, 3, 100}) {
      const Contraction form("bi,oi->bo", layout.X, layout.W, layout.Y, {.rounds = rounds});
      SCOPED_TRACE(layout.name + ": " + to_string(form));
      const Result result = run(layout, {.rounds = rounds});
      const int rank = layout.X.partition().rank();

      expect_dense(result, layout);
      EXPECT_EQ(result.forward.elements, whole.forward.elements);
      EXPECT_EQ(result.forward.elements, form.forward_traffic(rank).elements);
      EXPECT_EQ(result.forward.messages, form.forward_traffic(rank).messages);
      EXPECT_EQ(result.backward.elements, form.backward_traffic(rank).elements);
      EXPECT_EQ(result.backward.messages, form.backward_traffic(rank).messages);
      EXPECT_EQ(form.plan().stream.has_value(), layout.name != "row" && form.communicates());
    }
  }
}

TEST(ContractionOptions, WhatIsKeptIsNotGatheredAgain) {
  for (const Layout& layout : layouts()) {
    for (const auto& [keep_x, keep_w] :
         {std::pair{true, false}, std::pair{false, true}, std::pair{true, true}}) {
      const ContractionOptions options{.keep_x = keep_x, .keep_w = keep_w};
      const Contraction form("bi,oi->bo", layout.X, layout.W, layout.Y, options);
      SCOPED_TRACE(layout.name);
      const Result again = run(layout, {});
      const Result kept = run(layout, options);
      const int rank = layout.X.partition().rank();

      expect_dense(kept, layout);
      const Traffic saved = (keep_x ? form.read(0).traffic(rank) : Traffic{}) +
                            (keep_w ? form.read(1).traffic(rank) : Traffic{});
      EXPECT_EQ(kept.forward, again.forward);
      EXPECT_EQ(again.backward.elements - kept.backward.elements, saved.elements);
      EXPECT_EQ(again.backward.messages - kept.backward.messages, saved.messages);
    }
  }
}

TEST(ContractionOptions, KeepingHoldsWhatWasGatheredUntilBackward) {
  const Layout layout = layouts(48, 48, 48).front();
  const Partition& mesh = layout.X.partition();
  const Vector x = leaf(layout.X, draws({48, 48}, 1));
  const Vector w = leaf(layout.W, draws({48, 48}, 2));
  const MemoryMeter meter;
  Chain chain;
  const Vector y = contract("bi,oi->bo", x, w, layout.Y, {.keep_x = true, .keep_w = true});
  const std::int64_t result = 8 * y.local().numel();
  const std::int64_t gathered_x = mesh.extent("q2") > 1 ? 8 * x.local().size(0) * 48 : 0;
  const std::int64_t gathered_w = mesh.extent("q1") > 1 ? 8 * w.local().size(0) * 48 : 0;

  EXPECT_EQ(MemoryMeter::alive(), result + gathered_x + gathered_w);
  {
    const std::vector<Vector> gradients = pullback(y, distribute(dual(layout.Y), draws({48, 48}, 3)), {x, w});
  }
  EXPECT_EQ(MemoryMeter::alive(), result);
}

/// Σ y·ȳ.
Vector loss_of(const Vector& y, const at::Tensor& ybar) {
  return contract("bo,bo->", distribute(dual(y.space()), ybar), y, Space(y.space().partition(), {}));
}

TEST(ContractionOptions, TheWeightsGradientMayBePutOff) {
  for (const ContractionOptions options :
       {ContractionOptions{}, ContractionOptions{.rounds = 3}, ContractionOptions{.keep_x = true}}) {
    for (const Layout& layout : layouts()) {
      SCOPED_TRACE(layout.name);
      const auto [name, X, W, Y] = layout;
      const at::Tensor x_global = draws(X.shape(), 1), w_global = draws(W.shape(), 2);
      const Vector x = leaf(X, x_global), w = leaf(W, w_global);
      const Result now = run(layout, options);
      DeferredGradients later;
      {
        Chain chain;
        ContractionOptions parameters = options;
        parameters.w_is_parameter = true;
        const Vector y = contract("bi,oi->bo", x, w, Y, parameters);
        const Vector loss = loss_of(y, draws(Y.shape(), 3));
        const Traffic before = Counters::instance().total();
        backward(loss);
        EXPECT_EQ(later.size(), 1);
        EXPECT_FALSE(w.local().grad().defined());
        later.compute();
        EXPECT_EQ(later.size(), 0);
        const Traffic moved = Counters::instance().total() - before;
        if (options.rounds == 1) {
          EXPECT_EQ(moved, now.backward)
              << "what is read for both is read once; the loss's own backward moves nothing";
        }
      }
      EXPECT_TRUE(means(riesz::gradient(x), at::einsum("bo,oi->bi", {draws(Y.shape(), 3), w_global})));
      EXPECT_TRUE(means(riesz::gradient(w), at::einsum("bo,bi->oi", {draws(Y.shape(), 3), x_global})));
    }
  }
}

TEST(ContractionOptions, GradientsPutOffAddUpAndNestedScopesAreApart) {
  const Layout layout = layouts().front();
  const Vector x = leaf(layout.X, draws(layout.X.shape(), 1)), w = leaf(layout.W, draws(layout.W.shape(), 2));
  DeferredGradients outer;
  const auto once = [&] {
    Chain chain;
    backward(
        loss_of(contract("bi,oi->bo", x, w, layout.Y, {.w_is_parameter = true}), draws(layout.Y.shape(), 3)));
  };
  once();
  {
    DeferredGradients inner;
    once();
    EXPECT_EQ(inner.size(), 1);
    EXPECT_EQ(outer.size(), 1);
    inner.compute();
  }
  once();
  EXPECT_EQ(outer.size(), 2);
  outer.compute();
  const at::Tensor wbar = at::einsum("bo,bi->oi", {draws(layout.Y.shape(), 3), draws(layout.X.shape(), 1)});
  EXPECT_TRUE(means(gradient(w), wbar.mul(3)));
}

/// As each worker's part of a gradient lies in memory is how optimizers read it.
TEST(ContractionOptions, AGradientPutOffLiesAsItsWeight) {
  const Partition P = Partition::world();
  const Space X = Space(P, {6, 4}).sharded(0, "world"), W(P, {3, 4, 2}),
              Y = Space(P, {6, 2, 3}).sharded(0, "world");
  const Vector x = leaf(X, draws({6, 4}, 1)), w = leaf(W, draws({3, 4, 2}, 2));
  const at::Tensor ybar = draws({6, 2, 3}, 3);
  DeferredGradients later;
  {
    Chain chain;
    const Vector y = contract("bi,oih->bho", x, w, Y, {.w_is_parameter = true});
    backward(contract("bho,bho->", distribute(Y, ybar), y, Space(P, {})));
  }
  later.compute();
  EXPECT_TRUE(w.local().grad().is_contiguous());
  EXPECT_TRUE(means(gradient(w), at::einsum("bho,bi->oih", {ybar, draws({6, 4}, 1)})));
}

TEST(ContractionOptions, WhatIsPutOffAndNeverComputedIsLetGoAndAnEndedScopePutsNothingOff) {
  const Layout layout = layouts().front();
  const Vector x = leaf(layout.X, draws(layout.X.shape(), 1)), w = leaf(layout.W, draws(layout.W.shape(), 2));
  const MemoryMeter meter;
  {
    DeferredGradients later;
    Chain chain;
    const Vector copy =
        contract("bi,->bi", x, leaf(Space(x.space().partition(), {}), draws({}, 1)), layout.X);
    backward(loss_of(contract("bi,oi->bo", copy, w, layout.Y, {.w_is_parameter = true}),
                     draws(layout.Y.shape(), 3)));
    EXPECT_EQ(later.size(), 1);
    x.local().mutable_grad().reset();
  }
  EXPECT_EQ(MemoryMeter::alive(), 0);

  Chain chain;
  std::optional<Vector> y;
  {
    DeferredGradients ended;
    y = contract("bi,oi->bo", x, w, layout.Y, {.w_is_parameter = true});
  }
  backward(loss_of(*y, draws(layout.Y.shape(), 3)));
  EXPECT_TRUE(
      means(gradient(w), at::einsum("bo,bi->oi", {draws(layout.Y.shape(), 3), draws(layout.X.shape(), 1)})));
}

/// Another dim may be in zigzag, or empty on some worker.
TEST(ContractionOptions, RoundsLeaveOtherDimsAsTheyAre) {
  const Partition P = Partition::world();
  const std::int64_t tokens = 4 * P.size();
  std::vector<Intervals> needs(static_cast<std::size_t>(P.size()));
  needs.back() = {{0, tokens}};
  for (const Split& split : {Split::zigzag(tokens, P.size()), Split::covering(tokens, needs)}) {
    const Layout layout{"FSDP", Space(P, {tokens, 6}).sharded(0, "world", split),
                        Space(P, {4, 6}).sharded(1, "world"),
                        Space(P, {tokens, 4}).sharded(0, "world", split)};
    expect_dense(run(layout, {.rounds = 2}), layout);
  }
}

/// A split inside another's is no split of other pieces.
TEST(ContractionOptions, NestedSplitsStayWithTheirOwn) {
  const Partition mesh = Partition::simulated(4).grid({{"a", 2}, {"b", 2}});
  const Space X = Space(mesh, {5, 8}).sharded(1, "a").sharded(1, "b", Split::sizes({1, 3}));
  const Space W = Space(mesh, {7, 8}).sharded(1, "a", Split::sizes({3, 5}));
  EXPECT_NO_THROW(Contraction("bi,oi->bo", X, W, Space(mesh, {5, 7})));
  EXPECT_NO_THROW(Contraction("bi,oi->bo", W.with_shape({7, 8}), X.with_shape({5, 8}), Space(mesh, {7, 5})));
  const Partition other = Partition::simulated(4).grid({{"a", 4}});
  const Space far = Space(other, {5, 8}).sharded(1, "a", Split::sizes({1, 2, 2, 3}));
  EXPECT_NO_THROW(Contraction("bi,oi->bo", far, W, Space(mesh, {5, 7})));
}

/// One gather for several products, and one sum for several terms: spaces say so, no option does.
TEST(ContractionOptions, ACopiedOperandIsGatheredOnceAndPartialResultsAreSummedOnce) {
  const Partition mesh = square();
  const Space X = Space(mesh, {6, 13}).sharded(0, "q2");
  const Space gathered = Space(mesh, {6, 13}).copied("q2");
  const Space W = Space(mesh, {7, 13}).sharded(0, "q2"), V = Space(mesh, {5, 7}).sharded(1, "q2");
  const Space H = Space(mesh, {6, 7}).sharded(1, "q2"), Y(mesh, {6, 5}), term = Y.partial("q2");
  const at::Tensor x_global = draws({6, 13}, 1), v_global = draws({5, 7}, 9), ybar = draws({6, 5}, 8);
  const Vector x = leaf(X, x_global), v = leaf(V, v_global);
  Chain chain;
  Counters::instance().reset();
  const Vector copies = between(X, gathered)(x);
  std::optional<Vector> sum;
  at::Tensor y_global, xbar;
  for (int i = 0; i < 3; ++i) {
    const at::Tensor w_global = draws({7, 13}, static_cast<std::uint64_t>(2 + i));
    const Vector w = leaf(W, w_global);
    const Vector part = contract("bh,oh->bo", contract("bi,hi->bh", copies, w, H), v, term);
    sum = sum ? *sum + part : part;
    const at::Tensor all = at::einsum("bi,hi,oh->bo", {x_global, w_global, v_global});
    y_global = i == 0 ? all : y_global.add(all);
    const at::Tensor back = at::einsum("bo,oh,hi->bi", {ybar, v_global, w_global});
    xbar = i == 0 ? back : xbar.add(back);
  }
  const Vector y = between(term, Y)(*sum);
  auto counted = Counters::instance().by_operation();
  const int p = mesh.extent("q2");
  EXPECT_TRUE(means(y, y_global));
  EXPECT_EQ(counted["AllGather"].messages, p - 1);
  EXPECT_LE(counted["AllReduce"].messages, 2 * (p - 1));
  Counters::instance().reset();
  const Vector gradient = pullback(y, distribute(Y, ybar), {x}).front();
  counted = Counters::instance().by_operation();
  EXPECT_EQ(counted["ReduceScatter"].messages, p - 1);
  EXPECT_EQ(Counters::instance().total().messages, p - 1) << "nothing else moves in backward";
  EXPECT_TRUE(means(gradient, xbar));
}

TEST(ContractionOptions, TheCheapestPlanNeverMovesMoreAndMeansTheSame) {
  bool cheaper = false;
  for (const auto& [b, o] : {std::pair<std::int64_t, std::int64_t>{64, 4}, {4, 64}}) {
    for (const Layout& layout : layouts(b, 8, o)) {
      const Contraction rule("bi,oi->bo", layout.X, layout.W, layout.Y);
      const Contraction cheapest("bi,oi->bo", layout.X, layout.W, layout.Y, {.cheapest = true});
      SCOPED_TRACE(layout.name + ": " + to_string(rule) + "\n" + to_string(cheapest));
      const auto all = [&](const Contraction& form) {
        std::int64_t elements = 0;
        for (int rank = 0; rank < layout.X.partition().size(); ++rank)
          elements += form.forward_traffic(rank).elements + form.backward_traffic(rank).elements;
        return elements;
      };
      EXPECT_LE(all(cheapest), all(rule));
      cheaper = cheaper || all(cheapest) < all(rule);
      const Result result = run(layout, {.cheapest = true});
      expect_dense(result, layout);
      EXPECT_EQ(result.forward.elements, cheapest.forward_traffic(layout.X.partition().rank()).elements);
    }
  }
  EXPECT_EQ(cheaper, square().extent("q2") > 1);
}

TEST(ContractionOptions, ThatDoNotFitSayWhy) {
  const Partition mesh = Partition::simulated(4).grid({{"a", 2}, {"c", 2}});
  const Space W(mesh, {7, 8});
  const Space nested = Space(mesh, {5, 8}).sharded(1, "a").sharded(1, "c");
  const Space Y = Space(mesh, {5, 7}).sharded(1, "a").sharded(1, "c");

  EXPECT_ERROR(Contraction("bi,oi->bo", nested, W, Y, {.rounds = 0}), "0 rounds; it is at least 1");
  EXPECT_ERROR(Contraction("bi,oi->bo", nested, W, Y, {.rounds = 2, .keep_x = true}), "2 rounds let go",
               "ask for one of the two");
  EXPECT_ERROR(Contraction("bi,oi->bo", nested, W.sharded(0, "a").sharded(0, "c"), Y, {.rounds = 2}),
               "index i of x", to_string(nested), "at most one axis", "ask for one round");
  const Space zigzag = Space(mesh, {5, 8}).sharded(1, "a", Split::zigzag(8, 2));
  EXPECT_ERROR(
      Contraction("bi,oi->bo", zigzag, W.sharded(0, "a"), Space(mesh, {5, 7}).sharded(1, "a"), {.rounds = 2}),
      "index i of x", "one interval, in the workers' order");
}

TEST(ContractionOptions, ThePlanSaysItsPanels) {
  const Partition mesh = Partition::simulated(4).grid({{"q1", 2}, {"q2", 2}});
  const Space X = Space(mesh, {16, 32}).sharded(0, "q1").sharded(1, "q2");
  const Space W = Space(mesh, {64, 32}).sharded(1, "q1").sharded(0, "q2");
  const Space Y = Space(mesh, {16, 64}).sharded(0, "q1").sharded(1, "q2");
  EXPECT_EQ(to_string(Contraction("bi,oi->bo", X, W, Y, {.rounds = 4})),
            "bi,oi->bo on q1, q2: gather x over i on q2 (128 elements, 2 messages), "
            "gather w over i on q1 (512 elements, 2 messages), multiply; i in 4 panels");
}

}  // namespace
}  // namespace riesz::testing
