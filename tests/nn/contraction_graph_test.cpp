// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What backward does on a worker that needs less than the others, and what the graph keeps.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "expect.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/transports/mpi.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

struct Layout {
  const char* name;
  Space X, W, Y;
  Space ybar;  // where y is used differently by each worker
};

std::vector<Layout> layouts() {
  const Partition P = Partition::world();
  const Space X(P, {5, 3}), W(P, {7, 3}), Y(P, {5, 7});
  const Space rows = Y.sharded(0, "world"), columns = Y.sharded(1, "world");
  return {{"column", X, W.sharded(0, "world"), columns, columns},
          {"row", X.sharded(1, "world"), W.sharded(1, "world"), Y, Y.partial("world")},
          {"data parallel", X.sharded(0, "world"), W, rows, rows},
          {"FSDP", X.sharded(0, "world"), W.sharded(0, "world"), rows, rows},
          {"sequence parallel", X.sharded(0, "world"), W.sharded(0, "world"), columns, columns},
          {"rule c", X.sharded(1, "world"), W, columns, columns}};
}

/// Operands that overlap in copies, and results that do: each element is multiplied once.
TEST(ContractionGraph, OverlappingSplitsCountOnce) {
  const Partition P = Partition::world();
  const auto overlapping = [&](std::int64_t n) {
    std::vector<Intervals> needs;
    for (int worker = 0; worker < P.size(); ++worker) {
      const Interval own = balanced_interval(n, P.size(), 1, worker);
      needs.push_back({{std::max<std::int64_t>(0, own.begin - 1), std::min(n, own.end + 2)}});
    }
    return Split::covering(n, needs);
  };
  const Space X(P, {5, 3}), W(P, {7, 3}), Y(P, {5, 7});
  const std::vector<Space> xs{X, X.sharded(0, "world", overlapping(5)),
                              X.sharded(1, "world", overlapping(3))};
  const std::vector<Space> ws{W, W.sharded(0, "world", overlapping(7)),
                              W.sharded(1, "world", overlapping(3))};
  const std::vector<Space> ys{Y, Y.sharded(0, "world", overlapping(5)),
                              Y.sharded(1, "world", overlapping(7))};
  const at::Tensor x_global = draws({5, 3}, 1), w_global = draws({7, 3}, 2), ybar = draws({5, 7}, 3);
  for (const Space& A : xs) {
    for (const Space& B : ws) {
      for (const Space& C : ys) {
        const Vector x = leaf(A, x_global), w = leaf(B, w_global);
        SCOPED_TRACE(to_string(A) + "\n" + to_string(B) + "\n" + to_string(C));
        Chain chain;
        const Vector y = contract("bi,oi->bo", x, w, C);
        const std::vector<Vector> gradients = pullback(y, distribute(dual(C), ybar), {x, w});
        EXPECT_TRUE(means(y, at::einsum("bi,oi->bo", {x_global, w_global})));
        EXPECT_TRUE(means(gradients[0], at::einsum("bo,oi->bi", {ybar, w_global})));
        EXPECT_TRUE(means(gradients[1], at::einsum("bo,bi->oi", {ybar, x_global})));
      }
    }
  }
}

TEST(ContractionGraph, AWorkerMayIgnoreTheResult) {
  const Partition P = Partition::world();
  const Space whole(P, {});
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    const at::Tensor x_global = draws({5, 3}, 1);
    const at::Tensor w_global = draws({7, 3}, 2);
    const Vector x = leaf(layout.X, x_global);
    const Vector w = leaf(layout.W, w_global);

    Chain chain;
    const Vector y = between(layout.Y, dual(layout.ybar))(contract("bi,oi->bo", x, w, layout.Y));
    const at::Tensor mine =
        P.rank() == 0 ? at::sum(y.local()) : at::zeros({}, at::kDouble);  // others ignore y
    backward(between(whole.partial("world"), whole)(Vector(whole.partial("world"), mine)));

    at::Tensor ybar = at::zeros({5, 7}, at::kDouble);
    const Box box = y.space().box(0);
    ybar.narrow(0, box[0].begin, box[0].size()).narrow(1, box[1].begin, box[1].size()).fill_(1);
    EXPECT_TRUE(means(gradient(x), at::einsum("bo,oi->bi", {ybar, w_global})));
    EXPECT_TRUE(means(gradient(w), at::einsum("bo,bi->oi", {ybar, x_global})));
  }
}

TEST(ContractionGraph, AWorkerMayNeedNoGradientThatOthersNeed) {
  const Partition P = Partition::world();
  for (const Layout& layout : layouts()) {
    for (const bool of_x : {true, false}) {
      SCOPED_TRACE(std::string(layout.name) + (of_x ? ", x" : ", w"));
      const at::Tensor x_global = draws({5, 3}, 1);
      const at::Tensor w_global = draws({7, 3}, 2);
      const at::Tensor ybar_global = draws({5, 7}, 3);
      const bool first = P.rank() == 0;
      const Vector x = leaf(layout.X, x_global);
      const Vector w = leaf(layout.W, w_global);
      x.local().requires_grad_(first && of_x);
      w.local().requires_grad_(first && !of_x);
      const std::vector<Vector> needed = first ? std::vector<Vector>{of_x ? x : w} : std::vector<Vector>{};

      Chain chain;
      const Vector y = contract("bi,oi->bo", x, w, layout.Y);
      const std::vector<Vector> gradients = pullback(y, distribute(dual(layout.Y), ybar_global), needed);

      const at::Tensor expected = of_x ? at::einsum("bo,oi->bi", {ybar_global, w_global})
                                       : at::einsum("bo,bi->oi", {ybar_global, x_global});
      for (const Vector& g : gradients) {
        EXPECT_TRUE(is_close(g.local(), distribute(g.space(), expected).local()));
      }
    }
  }
}

/// A worker's product is a sum in fp32, rounded to the type once; what workers add is again a sum in fp32,
/// rounded once. Elements are far above the least normal number.
TEST(ContractionGraph, HalfTypesStayWhatTheyAre) {
  const auto einsum = [](const char* spec, const at::Tensor& a, const at::Tensor& b) {
    return at::einsum(spec, {a.to(at::kDouble), b.to(at::kDouble)});
  };
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const Layout& layout : layouts()) {
      SCOPED_TRACE(std::string(layout.name) + " in " + at::toString(type));
      const at::Tensor x_global = draws({5, 3}, 1).to(type), w_global = draws({7, 3}, 2).to(type);
      const at::Tensor ybar = draws({5, 7}, 3).to(type);
      const Vector x = leaf(layout.X, x_global), w = leaf(layout.W, w_global);
      const auto expect = [&](const Vector& v, const char* spec, const at::Tensor& a, const at::Tensor& b,
                              int terms) {
        const double u = unit_roundoff(type), in_float = (terms + 1) * unit_roundoff(at::kFloat);
        const at::Tensor expected = einsum(spec, a, b), all = einsum(spec, a.abs(), b.abs());
        EXPECT_EQ(v.local().scalar_type(), type);
        EXPECT_TRUE(means(v, meant(v), 0));
        EXPECT_TRUE(is_within(meant({v.space(), v.local().to(at::kDouble)}), expected,
                              all.mul((u + in_float) * (1 + u)).add(expected.abs(), u)));
      };

      Chain chain;
      const Vector y = contract("bi,oi->bo", x, w, layout.Y);
      const std::vector<Vector> gradients = pullback(y, distribute(dual(layout.Y), ybar), {x, w});

      expect(y, "bi,oi->bo", x_global, w_global, 3);
      expect(gradients[0], "bo,oi->bi", ybar, w_global, 7);
      expect(gradients[1], "bo,bi->oi", ybar, x_global, 5);
    }
  }
}

/// In fp32 and of sizes that other kernels multiply; of integers, so that all is exact.
TEST(ContractionGraph, OfLargeMatricesIsExact) {
  const Partition P = Partition::world();
  const Space X(P, {515, 517}), W(P, {519, 517}), Y(P, {515, 519});
  const auto integers = [](const Space& S, std::uint64_t seed) {
    return draws(S.shape(), seed).mul(4).round().to(at::kFloat);
  };
  const at::Tensor a = integers(X, 1), b = integers(W, 2), c = integers(Y, 3);
  const Space rows = Y.sharded(0, "world"), columns = Y.sharded(1, "world");
  const std::vector<Layout> large{
      {"column", X, W.sharded(0, "world"), columns, columns},
      {"row", X.sharded(1, "world"), W.sharded(1, "world"), Y, Y.partial("world")},
      {"FSDP", X.sharded(0, "world"), W.sharded(1, "world"), rows, rows}};
  for (const Layout& layout : large) {
    for (const int rounds : {1, 2}) {
      SCOPED_TRACE(layout.name);
      const Vector x = leaf(layout.X, a);
      const Vector w = leaf(layout.W, b);
      Chain chain;
      const Vector y = contract("bi,oi->bo", x, w, layout.Y, {.rounds = rounds});
      const std::vector<Vector> gradients = pullback(y, distribute(dual(layout.Y), c), {x, w});

      EXPECT_TRUE(
          meant(y).equal(at::einsum("bi,oi->bo", {a.to(at::kDouble), b.to(at::kDouble)}).to(at::kFloat)));
      EXPECT_TRUE(meant(gradients[0])
                      .equal(at::einsum("bo,oi->bi", {c.to(at::kDouble), b.to(at::kDouble)}).to(at::kFloat)));
      EXPECT_TRUE(meant(gradients[1])
                      .equal(at::einsum("bo,bi->oi", {c.to(at::kDouble), a.to(at::kDouble)}).to(at::kFloat)));
    }
  }
}

TEST(ContractionGraph, KeepsTheWeightAsStoredNotAsGathered) {
  constexpr std::int64_t n = 256;
  const Partition P = Partition::world();
  const Space X = Space(P, {4, n}).sharded(0, "world");
  const Space W = Space(P, {n, n}).sharded(0, "world");
  const Vector x = leaf(X, draws({4, n}, 1));
  const Vector w = leaf(W, draws({n, n}, 2));
  MemoryMeter meter;

  Chain chain;
  const Vector y = contract("bi,oi->bo", x, w, X);

  const std::int64_t result = 8 * y.local().numel();
  EXPECT_EQ(MemoryMeter::alive(), result) << "a gathered weight has " << 8 * n * n << " bytes";
  pullback(y, y, {x, w});
}

/// Messages by MPI; how much memory was in use when they were begun.
class Watched final : public Transport {
 public:
  explicit Watched(std::vector<std::int64_t>& alive) : alive_(alive) {}

  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) override {
    alive_.push_back(MemoryMeter::alive());
    return inner_.post(std::move(sends), std::move(receives));
  }

 private:
  std::vector<std::int64_t>& alive_;
  MpiTransport inner_;
};

/// Runs f over MPI; how much memory that f allocated was in use when each of its messages were begun.
std::vector<std::int64_t> alive_at_messages(const std::function<void()>& f) {
  std::vector<std::int64_t> alive;
  auto kept = set_world_communicator(std::make_unique<Communicator>(std::make_unique<Watched>(alive)));
  {
    const MemoryMeter meter;
    f();
    finish_background();
  }
  set_world_communicator(std::move(kept));
  return alive;
}

/// y is larger than all panels of w together, so it is seen when a product has made it.
TEST(ContractionGraph, SendsTheNextPanelWhileItMultipliesOne) {
  constexpr std::int64_t rows = 512, n = 48;
  const Partition P = Partition::world();
  const Space X = Space(P, {rows * P.size(), n}).sharded(0, "world");
  const Vector x = distribute(X, draws(X.shape(), 1));
  const Vector w = distribute(Space(P, {n, n}).sharded(1, "world"), draws({n, n}, 2));
  const at::NoGradGuard no_gradient;
  const std::vector<std::int64_t> alive =
      alive_at_messages([&] { contract("bi,oi->bo", x, w, X, {.rounds = 4}); });

  ASSERT_EQ(alive.size(), P.size() == 1 ? 0U : 4U);
  if (P.size() > 1) {
    EXPECT_LT(alive[1], 8 * rows * n) << "the first panel's product is there before the second is sent";
    EXPECT_GE(alive[2], 8 * rows * n);
  }
}

TEST(ContractionGraph, SendsOneGradientWhileItComputesTheOther) {
  constexpr std::int64_t n = 256;
  const Partition P = Partition::world();
  const Space X(P, {4, n});
  const Space W = Space(P, {n * P.size(), n}).sharded(0, "world");
  const Space Y = Space(P, {4, n * P.size()}).sharded(1, "world");
  const Vector x = leaf(X, draws({4, n}, 1));
  const Vector w = leaf(W, draws({n * P.size(), n}, 2));
  const Vector ybar = leaf(Y, draws({4, n * P.size()}, 3));
  Chain chain;
  const Vector y = contract("bi,oi->bo", x, w, Y);
  const std::vector<std::int64_t> alive = alive_at_messages([&] { pullback(y, ybar, {x, w}); });

  ASSERT_EQ(alive.empty(), P.size() == 1);
  if (P.size() > 1) {
    EXPECT_LT(alive.front(), 8 * n * n) << "the gradient of W is there before that of X is sent";
  }
}

}  // namespace
}  // namespace riesz::testing
