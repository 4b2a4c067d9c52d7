// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Constants and frozen weights cost no backward: no product, no message, and nothing is kept for them.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expect.h"
#include "of_one_x.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/local/local_function.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

/// What this worker sends where `A` is applied to doubles.
Traffic traffic_of(const Operator& A) {
  const int rank = A.domain().partition().rank();
  Traffic traffic = rank < 0 ? Traffic{} : A.traffic(rank);
  traffic.bytes = 8 * traffic.elements;
  return traffic;
}

struct PulledBack {
  std::vector<at::Tensor> gradients;
  Traffic sent;  ///< in backward
};

/// The pull-back of ȳ from y = form(x, w) to `inputs`, in a chain of its own.
PulledBack pulled_back(const Contraction& form, const Vector& x, const Vector& w, const Vector& ybar,
                       const std::vector<Vector>& inputs) {
  const Chain chain;
  const Vector y = form(x, w);
  const Traffic before = Counters::instance().total();
  PulledBack result;
  for (const Vector& each : pullback(y, ybar, inputs)) result.gradients.push_back(each.local());
  result.sent = Counters::instance().total() - before;
  return result;
}

/// One contraction on random spaces of some of the workers.
struct RandomForm {
  RandomForm(RandomSpaces& random, const std::string& x, const std::string& w, const std::string& y) {
    const Partition grid = random.grid(some_workers(random));
    std::map<char, std::int64_t> extents;
    const auto place = [&](const std::string& letters) {
      std::vector<std::int64_t> shape;
      for (const char index : letters)
        shape.push_back(extents.try_emplace(index, 1 + random.any_of(6)).first->second);
      return random.place(Space(grid, shape), {Placement::Replicated, Placement::Copied, Placement::Partial});
    };
    const Space X = place(x), W = place(w), Y = place(y);
    form.emplace(x + "," + w + "->" + y, X, W, Y);
  }
  std::optional<Contraction> form;
};

TEST(Frozen, AContractionMovesWhatTheGradientsOfTheOthersNeed) {
  RandomSpaces random(900 + static_cast<std::uint64_t>(all_workers().size()));
  std::int64_t saved = 0;
  for (int round = 0; round < 24; ++round) {
    const auto [w, y] = round % 2 == 0 ? std::pair("oi", "bto") : std::pair("iqh", "qbth");
    const Contraction form = *RandomForm(random, "bti", w, y).form;
    SCOPED_TRACE(to_string(form) + "\nof " + to_string(form.read(0)) + "\nand " + to_string(form.read(1)));
    const Vector x = random_leaf(form.read(0).domain(), 1), weight = random_leaf(form.read(1).domain(), 2);
    const Vector ybar = random_vector(dual(form.range()), 3, true);
    const PulledBack all = pulled_back(form, x, weight, ybar, {x, weight});
    const Traffic of_ybar = traffic_of(form.read(2)), of_x = traffic_of(form.read(0)),
                  of_w = traffic_of(form.read(1));

    const auto said = [&](GradientsWanted wanted) {
      const int rank = form.read(1).range().partition().rank();
      Traffic traffic = rank < 0 ? Traffic{} : form.backward_traffic(rank, wanted);
      traffic.bytes = 8 * traffic.elements;
      return traffic;
    };
    EXPECT_EQ(all.sent, said({}));

    const PulledBack frozen = pulled_back(form, x, constant(weight), ybar, {x});
    expect_close(frozen.gradients, {all.gradients[0]});
    EXPECT_EQ(frozen.sent, of_ybar + of_w + traffic_of(adjoint(form.read(0))));
    EXPECT_EQ(frozen.sent, said({.of_w = false}));

    const PulledBack of_data = pulled_back(form, constant(x), weight, ybar, {weight});
    expect_close(of_data.gradients, {all.gradients[1]});
    EXPECT_EQ(of_data.sent, of_ybar + of_x + traffic_of(adjoint(form.read(1))));
    EXPECT_EQ(of_data.sent, said({.of_x = false}));

    EXPECT_EQ(pulled_back(form, constant(x), constant(weight), ybar, {}).sent, Traffic{});
    EXPECT_EQ(said({.of_x = false, .of_w = false}), Traffic{});
    saved += all.sent.elements - frozen.sent.elements;
  }
  EXPECT_EQ(saved > 0, all_workers().size() > 1);
}

/// Any of three contractions of one x may be frozen, and x a constant: the others share what they move.
TEST(Frozen, ContractionsThatShareAReadSendItForTheTrainedAlone) {
  const std::int64_t p = all_workers().size(), held = 3 * 8;
  const Traffic once{(p - 1) * held, 8 * (p - 1) * held, p - 1};
  const OfOneX s = sequence_parallel();
  const std::vector<at::Tensor> expected = run(s, Handles::one).gradients;
  for (int which = 0; which < 16; ++which) {
    const bool x_trained = (which & 8) == 0;
    const auto trained = [&](std::size_t i) { return (which >> i & 1) == 0; };
    SCOPED_TRACE(which);
    const Chain chain;
    const Vector x = x_trained ? s.x : constant(s.x);
    const Vector copy = x;
    std::vector<Vector> ys;
    const Traffic start = Counters::instance().total();
    for (std::size_t i = 0; i < 3; ++i)
      ys.push_back(s.forms[i](i == 0 ? x : copy, trained(i) ? s.ws[i] : constant(s.ws[i])));
    EXPECT_EQ(Counters::instance().total() - start, once) << "x is gathered once";
    const Traffic before = Counters::instance().total();
    pull_back(ys, s.ybars);
    const Traffic gathered = which % 8 == 7 ? Traffic{} : once;  // for the gradients of weights
    EXPECT_EQ(Counters::instance().total() - before, gathered + (x_trained ? once : Traffic{}));
    const std::vector<at::Tensor> gradients = taken_gradients(s);
    for (std::size_t i = 0; i < 4; ++i) {
      const bool wanted = i == 0 ? x_trained : trained(i - 1);
      EXPECT_TRUE(is_close(gradients[i], wanted ? expected[i] : at::zeros_like(expected[i]))) << i;
    }
  }
}

TEST(Frozen, AWeightKeepsNothingOfX) {
  constexpr std::int64_t rows = 6, in = 8, out = 4;
  const Space X(all_workers(), {rows, in}), W(all_workers(), {out, in}), Y(all_workers(), {rows, out});
  const Contraction form("bi,oi->bo", X, W, Y);
  const Vector leaf = random_leaf(X, 1), w = random_leaf(W, 2);
  const auto kept = [&](const Vector& weight, const Vector& of) {
    const Chain chain;
    const MemoryMeter meter;
    const Vector y = form(2 * of, weight);
    return MemoryMeter::alive() - 8 * y.local().numel();
  };
  const std::int64_t of_trained = kept(w, leaf), of_frozen = kept(constant(w), leaf);
  EXPECT_EQ(of_trained - of_frozen, 8 * rows * in) << "x, which is made for it";
  EXPECT_EQ(kept(w, constant(leaf)), of_trained) << "the weight's gradient needs x";
  EXPECT_EQ(kept(constant(w), constant(leaf)), of_frozen);
}

/// How many matrix products the calls of `run` make on this thread.
template <typename Run>
int products(const Run& run) {
  thread_local int count = 0;
  count = 0;
  const auto begun = [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
    const std::string name = call.name();
    count += name == "aten::mm" || name == "aten::addmm" || name == "aten::addmm_" ||
             name == "aten::mm_out" || name == "aten::bmm";
    return nullptr;
  };
  const at::CallbackHandle handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(begun).scopes({at::RecordScope::FUNCTION}));
  run();
  at::removeCallback(handle);
  return count;
}

TEST(Frozen, AWeightCostsOneProductInBackward) {
  const Space X(all_workers(), {6, 8}), W(all_workers(), {4, 8}), Y(all_workers(), {6, 4});
  const Contraction form("bi,oi->bo", X, W, Y);
  const Vector x = random_leaf(X, 1), w = random_leaf(W, 2), ybar = random_vector(dual(Y), 3, true);
  const auto of_backward = [&](const Vector& a, const Vector& b) {
    const Chain chain;
    const Vector y = form(a, b);
    return products([&] { backward(y, ybar); });
  };
  EXPECT_EQ(of_backward(x, w), 2);
  EXPECT_EQ(of_backward(x, constant(w)), 1);
  EXPECT_EQ(of_backward(constant(x), w), 1);
  EXPECT_EQ(of_backward(constant(x), constant(w)), 0);
}

TEST(Frozen, SecondDerivativesAreThoseOfATrainedWeight) {
  const OfOneX s = sequence_parallel();
  const Vector u = random_leaf(s.ybars[0].space(), 7);
  const auto second = [&](const Vector& w) {
    const Chain chain;
    const Vector ybar(u.space(), u.local());
    const Vector xbar = pullback(s.forms[0](s.x, w), ybar, {s.x}, true).front();
    return pullback(xbar, random_vector(dual(xbar.space()), 9, true), {u}).front().local();
  };
  EXPECT_TRUE(is_close(second(constant(s.ws[0])), second(s.ws[0])));
}

/// Every way to compute with vectors, of constants: a constant on all workers, also on those without a part.
TEST(Frozen, WhatIsComputedFromConstantsIsAConstant) {
  const Partition some = all_workers().size() > 2 ? all_workers().subset({0, 1}) : all_workers();
  const Partition P = some.grid({{"tp", some.size()}});
  const Space X(P, {4, 6}), split = X.sharded(1, "tp");
  const Chain chain;
  const auto check = [&](const Vector& x, bool is) {
    const Vector more = to_space(x, split), beside = sum(x, {0});
    RmsNorm norm({"norm"}, split, 1e-5);
    norm.initialise(1, at::kDouble);
    norm.freeze();
    LayerNorm layer_norm({"layer_norm"}, split, 1e-5);
    layer_norm.initialise(1, at::kDouble);
    layer_norm.freeze();
    const std::vector<Vector> all{
        x + x,
        2 * x,
        x * x,
        -x,
        exp(x),
        more,
        between(split, X.copied("tp"))(more),
        between(split, X.copied("tp")).start(more).wait(),
        add(x, "bc", beside, "c"),
        mul(x, "bc", beside, "c"),
        max(more),
        mean(more, {1}),
        reshape(x, {2, 2, 6}),
        permute(x, "bc->cb"),
        select(x, 0, 1),
        slice(x, 0, 1, 3),
        cat({x, x}, 0),
        stack({x, x}, 0),
        norm(more),
        layer_norm(more),
        apply_local("square", {{more, X.copied("tp")}}, {X.partial("tp"), X.partial("tp")},
                    [](const std::vector<at::Tensor>& zs) { return zs[0].square(); })};
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].is_constant(), is) << i;
      if (is || P.active()) {
        EXPECT_EQ(all[i].local().requires_grad(), !is) << i;
      }
    }
  };
  const Vector x = random_leaf(X, 1);
  check(x, false);
  const at::Tensor before = Chain::current()->token();
  check(constant(x), true);
  EXPECT_TRUE(Chain::current()->token().is_same(before)) << "nothing is recorded";
  EXPECT_TRUE(Vector(X, at::zeros(X.local_shape(), at::kLong)).is_constant()) << "integers";
}

TEST(Frozen, ABiasBesideATrainedWeightSendsNothing) {
  const Partition P = all_workers().grid({{"dp", all_workers().size()}});
  const std::int64_t p = P.size();
  const Space X = Space(P, {2 * p, 6}).sharded(0, "dp"), Y = Space(P, {2 * p, 4}).sharded(0, "dp");
  for (const bool frozen : {false, true}) {
    Linear linear({"linear"}, "bi,io->bo", X, Y, {});
    linear.initialise(1, at::kDouble);
    if (frozen) linear.parameters()[1].freeze();
    const Chain chain;
    const Vector y = linear(random_leaf(X, 1));
    const Traffic before = Counters::instance().total();
    backward(y, random_vector(dual(y.space()), 2, true));
    const auto summed = [&](std::int64_t n) {
      const std::int64_t mine = Split::balanced(n, static_cast<int>(p))[P.rank()].size();
      return n - mine + (p - 1) * mine;
    };
    EXPECT_EQ((Counters::instance().total() - before).elements, summed(24) + (frozen ? 0 : summed(4)));
  }
}

TEST(Frozen, BackwardOfAConstantLossIsAnErrorOnAllWorkers) {
  const Partition some = all_workers().size() > 2 ? all_workers().subset({0, 1}) : all_workers();
  const Vector x = constant(random_leaf(Space(some, {4}), 1));
  const Chain chain;
  const Traffic before = Counters::instance().total();
  EXPECT_ERROR(backward(sum(x * x)), "backward: the loss", "is a constant", "freeze fewer");
  EXPECT_EQ(Counters::instance().total(), before);
}

/// Of a model all frozen: losses of constants are constants, whatever shards the logits; else none is.
TEST(Frozen, BackwardOfALibrarysLossOfConstantsIsAnErrorOnAllWorkers) {
  const Partition some = all_workers().size() > 2 ? all_workers().subset({0, 1}) : all_workers();
  const Partition P = some.grid({{"tp", some.size()}});
  const Space X(P, {4, 6});
  const Vector ids(Space(P, {4}), at::ones(P.active() ? at::IntArrayRef{4} : at::IntArrayRef{0}, at::kLong));
  for (const Space& S : {X, X.sharded(1, "tp")}) {
    const Chain chain;
    const Vector x = random_leaf(S, 1);
    for (const Vector& loss :
         {cross_entropy(constant(x), ids).mean(), mse_loss(constant(x), constant(x)).mean(),
          bce_with_logits_loss(constant(x), constant(x)).mean()})
      EXPECT_ERROR(backward(loss), "backward: the loss", "is a constant", "freeze fewer");
    for (const Vector& loss :
         {cross_entropy(x, ids).mean(), mse_loss(x, constant(x)).mean(), mse_loss(constant(x), x).mean()})
      EXPECT_FALSE(loss.is_constant());
  }
}

struct Checking {
  Checking() { set_consistency_checks(true); }
  ~Checking() { set_consistency_checks(before); }
  bool before = consistency_checks();
};

/// Such as a weight that one worker alone has frozen: its backward would leave out what others wait for.
TEST(Frozen, AConstantOnSomeWorkersAloneIsAnErrorOnAll) {
  if (all_workers().size() == 1) return;
  const Checking checking;
  const Partition P = all_workers().grid({{"tp", all_workers().size()}});
  const Space X = Space(P, {6, 8}).sharded(0, "tp"), W(P, {4, 8}), Y = Space(P, {6, 4}).sharded(0, "tp");
  const bool last = P.rank() + 1 == P.size();
  const auto here = [&](const Vector& v) { return last ? constant(v) : v; };
  const std::string one_and_the_last =
      "but rank 0 has 0 at (0) and rank " + std::to_string(P.size() - 1) + " has 1 at (0)";
  const Contraction form("bi,oi->bo", X, W, Y);
  const Vector x = random_leaf(X, 1), w = random_leaf(W, 2);
  const Chain chain;
  EXPECT_ERROR(form(x, here(w)), "w of contract bi,oi->bo", "is a constant, such as a frozen weight",
               one_and_the_last);
  EXPECT_ERROR(form(here(x), w), "x of contract bi,oi->bo", one_and_the_last);
  const Operator gather = between(X, W.with_shape({6, 8}));
  EXPECT_ERROR(gather(here(x)), "the input of AllGather", "is a constant", one_and_the_last);
  EXPECT_ERROR(gather.start(here(x)), "the input of AllGather", "is a constant", one_and_the_last);
  EXPECT_ERROR(together({gather}, {here(x)}), "the input of AllGather", "is a constant", one_and_the_last);
  EXPECT_NO_THROW(form(x, constant(w)));
}

TEST(Frozen, AConstantWhoseTensorRequiresAGradientIsAnError) {
  const Space X(all_workers(), {2});
  const Vector x = random_leaf(X, 1);
  const at::Tensor batch = at::ones({2}, at::kDouble);
  const Vector images = constant(distribute(X, batch));  // no gradient goes back to them
  EXPECT_TRUE(images.is_constant());
  EXPECT_ERROR(Vector(X, x.local(), true), "a constant", "requires one", "Vector(space, local)");
  EXPECT_ERROR(map("f", constant(x), [&](const at::Tensor& z) { return z.mul(x.local()); }), "a constant");
  EXPECT_ERROR(gradient(constant(x)), "is a constant");
}

}  // namespace
}  // namespace riesz::testing
