// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Functions of torch's own between natural maps, against the same function on global tensors.
#include "riesz/nn/local/local_function.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "expect.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/counters.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using Globals = std::vector<at::Tensor>;

Partition all() { return Partition::world(); }

/// f on whole vectors, by torch alone: y, and the gradients of those with one.
Globals dense(const LocalFunction::Function& f, const Globals& xs, const at::Tensor& ybar) {
  Globals leaves;
  for (const at::Tensor& x : xs) leaves.push_back(x.is_floating_point() ? x.clone().requires_grad_() : x);
  const at::Tensor y = f(leaves);
  y.backward(ybar);
  Globals results{y.detach()};
  for (const at::Tensor& x : leaves)
    if (x.is_floating_point()) results.push_back(x.grad());
  return results;
}

std::vector<Vector> leaves_of(const LocalFunction& f, const Globals& xs) {
  std::vector<Vector> vectors;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Space& X = f.reads()[i].domain();
    vectors.push_back(xs[i].is_floating_point() ? leaf(X, xs[i]) : distribute(X, xs[i]));
  }
  return vectors;
}

void expect_dense(const LocalFunction& f, const LocalFunction::Function& whole, const Globals& xs) {
  const std::vector<Vector> vectors = leaves_of(f, xs);
  const Space& Y = f.write().range();
  const at::Tensor ybar = draws(Y.shape(), 9);
  const Globals expected = dense(whole, xs, ybar);
  std::vector<Vector> with_gradient;
  for (const Vector& x : vectors)
    if (x.local().is_floating_point()) with_gradient.push_back(x);
  Chain chain;
  const Vector y = f(vectors);
  const std::vector<Vector> gradients = pullback(y, distribute(dual(Y), ybar), with_gradient);
  EXPECT_TRUE(means(y, expected[0]));
  for (std::size_t i = 0; i < gradients.size(); ++i) EXPECT_TRUE(means(gradients[i], expected[i + 1])) << i;
  const at::NoGradGuard no_gradient;
  EXPECT_TRUE(means(f(vectors), expected[0]));
}

/// Each row by its own length, times w: a norm that the library has not.
at::Tensor unit_rows(const at::Tensor& x, const at::Tensor& w) {
  return x.div(at::linalg_vector_norm(x, 2, {1}, true)).mul(w);
}

/// Rows are whole where they are computed with, whoever stores what of them.
LocalFunction unit_row_function(const Space& X, const Space& W, bool keep = false) {
  const Space rows = Space(X.partition(), X.shape()).sharded(0, "world");
  const Space beside = Space(W.partition(), W.shape()).copied("world");
  return LocalFunction("unit_rows", {{X, rows}, {W, beside}}, {X, rows},
                       [](const std::vector<at::Tensor>& z) { return unit_rows(z[0], z[1]); },
                       {.keep = keep});
}

TEST(LocalFunction, OfRowsIsTorchsWhereverTheyLie) {
  const Space X(all(), {7, 5}), W(all(), {5});
  const auto whole = [](const Globals& z) { return unit_rows(z[0], z[1]); };
  for (const Space& stored : {X.sharded(1, "world"), X.sharded(0, "world"), X}) {
    for (const Space& of_w : {W, W.sharded(0, "world")}) {
      for (const bool keep : {false, true}) {
        SCOPED_TRACE(to_string(stored) + "\n" + to_string(of_w));
        expect_dense(unit_row_function(stored, of_w, keep), whole, {draws({7, 5}, 1), draws({5}, 2)});
      }
    }
  }
}

TEST(LocalFunction, OfAllThatIsReplicatedIsOneFunctionOnAll) {
  const Space X(all(), {7, 5}), W(all(), {5});
  const LocalFunction f("unit_rows", {{X.sharded(1, "world"), X}, {W.sharded(0, "world"), W}},
                        {X.sharded(0, "world"), X}, [](const Globals& z) { return unit_rows(z[0], z[1]); });
  expect_dense(f, [](const Globals& z) { return unit_rows(z[0], z[1]); }, {draws({7, 5}, 1), draws({5}, 2)});
}

/// A window of three along a sharded sequence: its read is a halo, and what workers have of both ends is
/// added up.
TEST(LocalFunction, OfWindowsReadsAHalo) {
  const std::int64_t n = 4 * all().size(), outputs = n - 2;
  std::vector<Intervals> needs;
  for (int worker = 0; worker < all().size(); ++worker) {
    const Interval own = balanced_interval(outputs, all().size(), 1, worker);
    needs.push_back({{own.begin, own.end + 2}});
  }
  const Space X = Space(all(), {2, n}).sharded(1, "world"),
              Y = Space(all(), {2, outputs}).sharded(1, "world");
  const Space windows = Space(all(), {2, n}).sharded(1, "world", Split::covering(n, needs));
  const Space W(all(), {1, 1, 3});
  const auto f = [](const Globals& z) { return at::conv1d(z[0].unsqueeze(1), z[1]).squeeze(1); };
  expect_dense(LocalFunction("window", {{X, windows}, {W, W.copied("world")}}, {Y, Y}, f), f,
               {draws({2, n}, 1), draws({1, 1, 3}, 2)});
}

/// ids have no gradient; the table is gathered, twice, and its gradient scattered.
TEST(LocalFunction, OfWholeNumbersHasNoGradientInThem) {
  at::manual_seed(5);
  const Space ids = Space(all(), {6}).sharded(0, "world"), table(all(), {8, 3});
  const Space Y = Space(all(), {6, 3}).sharded(0, "world");
  const auto f = [](const Globals& z) { return at::embedding(z[1], z[0]); };
  const at::Tensor of_ids = at::randint(0, 8, {6});
  expect_dense(
      LocalFunction("rows", {{ids, ids}, {table.sharded(0, "world"), table.copied("world")}}, {Y, Y}, f), f,
      {of_ids, draws({8, 3}, 2)});
}

TEST(LocalFunction, SeesIntegersThatDiffer) {
  if (all().size() == 1) return;
  const Space ids(all(), {6}), table(all(), {8, 3}), Y(all(), {6, 3});
  const auto f = [](const Globals& z) { return at::embedding(z[1], z[0]); };
  const LocalFunction rows("rows", {{ids, ids}, {table, table}}, {Y, Y}, f);
  const Vector of_ids(ids, at::full({6}, all().rank() + 1 == all().size() ? 1 : 0, at::kLong));
  const bool before = consistency_checks();
  set_consistency_checks(true);
  EXPECT_ERROR(rows({of_ids, distribute(table, draws({8, 3}, 2))}),
               "local function rows: input 0 is Replicated on axis world");
  set_consistency_checks(before);
}

TEST(LocalFunction, ATermIsSummedWhenItIsWritten) {
  const Space X = Space(all(), {7, 5}).sharded(0, "world"), Y(all(), {5});
  const auto f = [](const Globals& z) { return at::sum(z[0].exp(), {0}); };
  expect_dense(LocalFunction("sum of exp", {{X, X}}, {Y, Y.partial("world")}, f), f, {draws({7, 5}, 1)});
  expect_dense(LocalFunction("sum of exp", {{Space(all(), {7, 5}).sharded(1, "world"), X}},
                             {Y, Y.partial("world")}, f),
               f, {draws({7, 5}, 1)});
}

TEST(LocalFunction, GradientsAreDifferentiableAgain) {
  const Space X(all(), {6, 5}), W(all(), {5});
  const at::Tensor a = draws({6, 5}, 1), b = draws({5}, 2), c = draws({6, 5}, 3), u = draws({6, 5}, 4);
  // ⟨x̄, u⟩ = ȳ·(∂y/∂x)u, by differences that are exact to 1e-9: x̄ is smooth.
  for (const Space& stored : {X.sharded(1, "world"), X.sharded(0, "world")}) {
    const LocalFunction f = unit_row_function(stored, W.sharded(0, "world"));
    const Vector x = leaf(stored, a), w = leaf(W.sharded(0, "world"), b), ybar = leaf(dual(stored), c);
    Chain chain;
    const Vector xbar = pullback(f({x, w}), ybar, {x}, true).front();
    const std::vector<Vector> second = pullback(xbar, distribute(dual(xbar.space()), u), {x, w, ybar});
    const auto xbar_at = [&](const at::Tensor& x0, const at::Tensor& w0) {
      return dense([](const Globals& z) { return unit_rows(z[0], z[1]); }, {x0, w0}, c)[1];
    };
    const double h = 1e-5;
    const at::Tensor along =
        xbar_at(a.add(u, h), b).sub(xbar_at(a.sub(u, h), b)).div(2 * h);  // symmetric in x
    EXPECT_TRUE(means(second[0], along, 1e-8));
    const at::Tensor yu = unit_rows(a.add(u, h), b).sub(unit_rows(a.sub(u, h), b)).div(2 * h);
    EXPECT_TRUE(means(second[2], yu, 1e-8));
    EXPECT_TRUE(means(second[1], at::sum(yu.div(b).mul(c), {0}), 1e-8));
  }
}

/// x stored by columns and computed by rows: it goes there, there again in backward, and back; ȳ and y the
/// same.
/// f gives back what it was given, which is x itself: y is another handle, and x a leaf still.
TEST(LocalFunction, MayReturnAnInputAsItIs) {
  const std::int64_t n = 2 * all().size() + 1;
  const Space rows = Space(all(), {n, 5}).sharded(0, "world"),
              columns = Space(all(), {n, 5}).sharded(1, "world");
  const LocalFunction f("second", {{columns, rows}, {rows, rows}}, {rows, rows},
                        [](const Globals& z) { return z[1]; });
  const Vector moved = leaf(columns, draws({n, 5}, 1)), x = leaf(rows, draws({n, 5}, 2));
  Chain chain;
  const Vector y = f({moved, x});
  EXPECT_TRUE(x.local().is_leaf());
  EXPECT_FALSE(y.local().is_same(x.local()) && all().size() > 1);
  const at::Tensor ybar = draws({n, 5}, 3);
  const std::vector<Vector> gradients = pullback(y, distribute(dual(rows), ybar), {moved, x});
  EXPECT_TRUE(means(gradients[0], at::zeros_like(ybar)));
  EXPECT_TRUE(means(gradients[1], ybar));
}

TEST(LocalFunction, SendsWhatItsReadsSendAndKeepsWhatItIsGiven) {
  const std::int64_t p = all().size();
  const Space X = Space(all(), {4 * p, 3 * p}).sharded(1, "world"),
              W = Space(all(), {3 * p}).sharded(0, "world");
  for (const bool keep : {false, true}) {
    const LocalFunction f = unit_row_function(X, W, keep);
    const Vector x = leaf(X, draws(X.shape(), 1)), w = leaf(W, draws(W.shape(), 2));
    const Vector ybar = distribute(dual(X), draws(X.shape(), 3));
    const auto sent = [&](const Operator& A) { return A.traffic(all().rank()).elements; };
    Chain chain;
    const MemoryMeter meter;
    const Traffic start = Counters::instance().total();
    const Vector y = f({x, w});
    const Traffic middle = Counters::instance().total();
    if (!keep && p > 1) {
      EXPECT_EQ(MemoryMeter::alive(), 8 * y.local().numel()) << "y alone";
    }
    pullback(y, ybar, {x, w});
    const std::int64_t reading = sent(f.reads()[0]) + sent(f.reads()[1]);
    EXPECT_EQ((middle - start).elements, reading + sent(f.write()));
    EXPECT_EQ((Counters::instance().total() - middle).elements,
              (keep ? 0 : reading) + sent(adjoint(f.write())) + sent(adjoint(f.reads()[0])) +
                  sent(adjoint(f.reads()[1])));
  }
}

TEST(LocalFunction, AWorkerMayNeedNoGradientAndUseNoResult) {
  const Space X = Space(all(), {6, 5}).sharded(1, "world"), W(all(), {5});
  const LocalFunction f = unit_row_function(X, W);
  const Vector x = leaf(X, draws({6, 5}, 1)), w = leaf(W, draws({5}, 2));
  x.local().requires_grad_(all().rank() == 0);
  const std::vector<Vector> needed = all().rank() == 0 ? std::vector<Vector>{x} : std::vector<Vector>{};
  Chain chain;
  const Vector y = f({x, w});
  f({x, w});  // used nowhere
  const std::vector<Vector> gradients = pullback(y, distribute(X, draws({6, 5}, 3)), needed);
  const Globals expected = dense([](const Globals& z) { return unit_rows(z[0], z[1]); },
                                 {draws({6, 5}, 1), draws({5}, 2)}, draws({6, 5}, 3));
  for (const Vector& g : gradients)
    EXPECT_TRUE(is_close(g.local(), distribute(g.space(), expected[1]).local()));
}

TEST(LocalFunction, OfSomeOfTheWorkers) {
  const Partition last = all().subset({all().size() - 1});
  const Space X = Space(all(), {6, 5}).sharded(1, "world"), W(all(), {5}), there(last, {6, 5}),
              w_there(last, {5});
  const auto f = [](const Globals& z) { return unit_rows(z[0], z[1]); };
  expect_dense(LocalFunction("unit_rows", {{X, there}, {W, w_there}}, {X, there}, f), f,
               {draws({6, 5}, 1), draws({5}, 2)});
}

/// A pipeline asks it on every worker, also where nothing is computed.
TEST(LocalFunction, ItsResultRequiresAGradientOnAllWorkersAlike) {
  const Partition last = all().subset({all().size() - 1});
  const Space alone(last, {4}), one = Space(all(), {1}).sharded(0, "world");
  const auto f = [](const Globals& z) { return z[0].numel() > 0 ? z[0].sin() : at::zeros_like(z[0]); };
  for (const Space& X : {alone, one})
    for (const bool keep : {false, true}) {
      const LocalFunction sine("sine", {{X, X}}, {X, X}, f, {.keep = keep});
      Chain chain;
      const Vector x = leaf(X, draws(X.shape(), 1)), y = sine({x});
      EXPECT_TRUE(y.local().requires_grad()) << to_string(X);
      EXPECT_FALSE(sine({Vector(X, x.local().detach(), true)}).local().requires_grad()) << to_string(X);
      const Vector xbar = pullback(y, distribute(dual(X), draws(X.shape(), 2)), {x}).front();
      const at::Tensor expected = draws(X.shape(), 1).cos().mul(draws(X.shape(), 2));
      EXPECT_TRUE(is_close(xbar.local(), distribute(dual(X), expected).local()));
    }
}

/// The example of docs/guides/write_an_operator.md.
TEST(LocalFunction, OfOneCall) {
  const Partition mesh = Partition::world();
  const at::Tensor a = draws({7, 5}, 1), b = draws({5}, 2);
  const Vector x = leaf(Space(mesh, {7, 5}).sharded(1, "world"), a), w = leaf(Space(mesh, {5}), b);
  Chain chain;
  const Space rows = Space(mesh, {7, 5}).sharded(0, "world");  // a worker has whole rows of x and y,
  const Space for_each = Space(mesh, {5}).copied("world");     // and w for its own rows
  const Vector y =
      apply_local("unit_rows", {{x, rows}, {w, for_each}}, {x.space(), rows},  // y is stored as x is
                  [](const std::vector<at::Tensor>& z) {
                    return z[0].div(at::linalg_vector_norm(z[0], 2, {1}, true)).mul(z[1]);
                  });
  EXPECT_TRUE(means(y, unit_rows(a, b)));
}

TEST(LocalFunction, ThatDoesNotFitSaysWhy) {
  const Partition P = Partition::simulated(2).grid({{"a", 2}});
  const Space X(P, {4, 3});
  const auto first = [](const Globals& z) { return z[0]; };
  EXPECT_ERROR(LocalFunction("f", {{X, X}}, {X, X.sharded(0, "a")}, first), "local function f", "on axis a",
               "an input is computed with Replicated", "read it Sharded or Copied");
  EXPECT_ERROR(LocalFunction("f", {{X, X.sharded(0, "a")}}, {X, X}, first),
               "the result is computed Replicated", "Partial where each worker computes a term");
  EXPECT_ERROR(LocalFunction("f", {{X, X.partial("a")}}, {X, X}, first), "local function f",
               "Partial on axis a");
  EXPECT_ERROR(LocalFunction("f", {{X, X}}, {X, Space(Partition::simulated(1), {4, 3})}, first),
               "on two grids");
  EXPECT_ERROR(LocalFunction("f", {}, {X, X}, first), "has no input");

  const Space Y(all(), {4, 3});
  const at::NoGradGuard no_gradient;
  const Vector y = distribute(Y, draws({4, 3}, 1)), ids = distribute(Y, at::randint(0, 5, {4, 3}));
  EXPECT_ERROR(apply_local("f", {{y, Y}}, {Y, Y}, [](const Globals& z) { return z[0].t(); }),
               "f returned a tensor of shape [3, 4]", "gives this worker [4, 3]");
  EXPECT_ERROR(apply_local("f", {{y, Y}}, {Y, Y}, [](const Globals& z) { return z[0].to(at::kFloat); }),
               "returned Float where Double is expected", "result_type");
  EXPECT_ERROR(apply_local("f", {{ids, Y}}, {Y, Y}, first), "inputs of integers alone");
  EXPECT_ERROR(LocalFunction("f", {{Y, Y}}, {Y, Y}, first)({}), "takes 1 vectors, not 0");
  EXPECT_ERROR(LocalFunction("f", {{Y, Y}}, {Y, Y}, first)({distribute(Y.copied("world"), draws({4, 3}, 1))}),
               "takes, as its input 0, vectors of", to_string(Y));
}

}  // namespace
}  // namespace riesz::testing
