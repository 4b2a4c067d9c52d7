// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Random programs of natural maps between spaces of all kinds on all kinds of partitions of the job: what
// holds of one operator holds of what is composed of them, and of their gradients.
#include "random_program.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tanh.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/pending.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

/// All on eight workers, some on the others.
int some_of(int count) { return Runtime::size() == 8 ? count : count / 2; }

double norm(const Vector& x) { return std::sqrt(sum_of_all(my_pairing(x, x.local()))); }

Vector leaf(const Vector& x) { return {x.space(), x.local().detach().clone().requires_grad_()}; }

void expect_adjoint_law(const Operator& A, std::uint64_t seed) {
  const bool equal_copies = needs_equal_copies(A);
  const Vector x = random_vector(A.domain(), 2 * seed, equal_copies);
  const Vector y = random_vector(dual(A.range()), 2 * seed + 1, equal_copies);
  const at::NoGradGuard guard;
  const Vector Ax = A(x);
  const Vector By = adjoint(A)(y);
  const double left = sum_of_all(my_pairing(Ax, y.local()));
  const double right = sum_of_all(my_pairing(x, By.local()));
  EXPECT_LE(std::abs(left - right), 1e-12 * (norm(Ax) * norm(y) + norm(x) * norm(By)))
      << "<A x, y> = " << left << ", <x, A* y> = " << right << ", ratio " << left / right;
  EXPECT_SAME_BITS(A.start(x).wait().local(), Ax.local());
  const at::AutoGradMode recorded(true);
  Chain chain;
  const Vector z = leaf(x);
  EXPECT_SAME_BITS(pullback(A(z), y, {z}).front().local(), By.local());
}

void expect_meaning_kept(const Operator& A, std::uint64_t seed) {
  const at::NoGradGuard guard;
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : random_parts(A.domain(), seed, true)) {
    parts.push_back(part.mul(100).round().add(0.));
  }
  const Vector y = A(part_of(A.domain(), parts));
  const std::vector<at::Tensor> found = all_parts(A.range().partition(), y.local());
  if (!A.range().partition().active()) return;
  EXPECT_TRUE(belongs(A.range(), found, true));
  EXPECT_TRUE(at::equal(meant(A.range(), found), meant(A.domain(), parts)));
}

TEST(RandomProgram, HasTheAdjointOfItsPartsAndKeepsTheVectorMeant) {
  for_each_seed(some_of(500), [](std::uint64_t seed) {
    RandomSpaces random(seed);
    const std::vector<Operator> moves = random_program(random, false);
    const Operator A = composed(moves);
    SCOPED_TRACE(to_string(A) + "\n  from " + to_string(A.domain()) + "\n  to " + to_string(A.range()));
    std::vector<Operator> back;
    for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
      back.push_back(between(dual(move->range()), dual(move->domain())));
    }

    EXPECT_EQ(adjoint(A), composed(back));
    expect_adjoint_law(A, seed);
    expect_meaning_kept(A, seed);
  });
}

TEST(RandomProgram, HasTheProductOfTheMatricesOfItsParts) {
  for_each_seed(some_of(120), [](std::uint64_t seed) {
    RandomSpaces random(seed);
    const std::vector<Operator> moves = random_program(random, true);
    const Operator A = composed(moves);
    if (needs_equal_copies(A)) return;  // unit vectors are no equal copies
    SCOPED_TRACE(to_string(A) + "\n  from " + to_string(A.domain()) + "\n  to " + to_string(A.range()));
    Eigen::MatrixXd product = matrix_of(moves.front());
    for (std::size_t i = 1; i < moves.size(); ++i) product = matrix_of(moves[i]) * product;

    EXPECT_TRUE(matrix_of(A) == product);
    EXPECT_TRUE(matrix_of(adjoint(A)) == product.transpose());
  });
}

bool is_partial(const Space& X) {
  for (const Axis& axis : X.partition().axes()) {
    if (X.placement(axis.name) == Placement::Partial) return true;
  }
  for (int dim = 0; dim < X.dims(); ++dim) {
    if (X.terms(dim)) return true;
  }
  return false;
}

Vector point_wise(const Vector& x, int which) {
  if (is_partial(x.space())) return x;
  return map("a function", x, [&](const at::Tensor& t) {
    if (which == 0) return at::sin(t);
    if (which == 1) return at::tanh(t);
    return which == 2 ? t.mul(t).div(t.mul(t).add(1)) : t;
  });
}

/// dφ/dx in the direction v, by differences of fourth order.
double slope(const std::function<double(const Vector&)>& phi, const Vector& x, const Vector& v) {
  const at::NoGradGuard guard;
  const double h = 1e-4;
  const auto difference = [&](double step) {
    const double up = phi(x + step * v);
    return up - phi(x - step * v);
  };
  const double near = difference(h);
  return (8 * near - difference(2 * h)) / (12 * h);
}

TEST(RandomProgram, WithPointWiseFunctionsHasTheGradientOfDifferences) {
  for_each_seed(some_of(250), [](std::uint64_t seed) {
    RandomSpaces random(seed);
    const std::vector<Operator> moves = random_program(random, false);
    const Operator A = composed(moves);
    SCOPED_TRACE(to_string(A) + "\n  from " + to_string(A.domain()) + "\n  to " + to_string(A.range()));
    std::vector<int> functions;
    for (std::size_t i = 0; i <= moves.size(); ++i) functions.push_back(random.any_of(4));
    const bool equal_copies = needs_equal_copies(A);
    const Vector x = random_vector(A.domain(), seed, equal_copies);
    const Vector v = random_vector(A.domain(), seed + 1, equal_copies);
    const Vector ybar = random_vector(dual(A.range()), seed + 2, equal_copies);
    const auto run = [&](const Vector& at) {
      Vector y = point_wise(at, functions[0]);
      for (std::size_t i = 0; i < moves.size(); ++i) y = point_wise(moves[i](y), functions[i + 1]);
      return y;
    };

    Chain chain;
    const Vector z = leaf(x);
    const Vector y = run(z);
    const Vector xbar = pullback(y, ybar, {z}).front();

    const double found = sum_of_all(my_pairing(v, xbar.local()));
    const double expected =
        slope([&](const Vector& at) { return sum_of_all(my_pairing(run(at), ybar.local())); }, x, v);
    EXPECT_LE(std::abs(found - expected), 1e-7 * (1 + norm(y) * norm(ybar) + norm(v) * norm(xbar)))
        << "the gradient says " << found << ", differences " << expected;
  });
}

/// A graph of random moves, functions and sums over one leaf, and a loss of some results on some workers
/// only.
class Graph {
 public:
  Graph(RandomSpaces& random, const Space& X) {
    const std::vector<Placement> all{Placement::Replicated, Placement::Copied, Placement::Partial};
    std::vector<Space> spaces{X};
    for (int left = 3 + random.any_of(8); left > 0; --left) {
      Node node{
          random.any_of(static_cast<int>(spaces.size())), kNone, random.any_of(4), Operator::identity(X), {}};
      const Space& from = spaces[static_cast<std::size_t>(node.first)];
      const Space to = random.any_of(4) == 0 ? from : next_space(random, from, all, true);
      node.move = between(from, to);
      for (int other = 0; other < static_cast<int>(spaces.size()); ++other) {
        if (spaces[static_cast<std::size_t>(other)] == to && random.any_of(2) == 0) node.second = other;
      }
      for (int rank = 0; rank < Runtime::size(); ++rank) node.weights.push_back(random.any_of(3) - 1);
      spaces.push_back(to);
      nodes_.push_back(node);
      // not Replicated: each worker uses its own part in its own way, or not at all
      results_.push_back(between(to, next_space(random, to, {Placement::Copied}, false)));
      used_.push_back(random.any_of(3) > 0);
    }
  }

  Vector loss(const Vector& x) const {
    std::vector<Vector> values{x};
    at::Tensor mine = at::scalar_tensor(0, at::kDouble);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      Vector y = point_wise(node.move(values[static_cast<std::size_t>(node.first)]), node.function);
      if (node.second != kNone) y = 0.5 * (y + values[static_cast<std::size_t>(node.second)]);
      values.push_back(y);
      if (!used_[i]) continue;
      const at::Tensor part = results_[i](y).local();
      const int weight = node.weights[static_cast<std::size_t>(Runtime::rank())];
      if (weight != 0) mine = mine.add(at::sin(part).sum().mul(weight));
    }
    const Space scalar(Partition::world(), {});
    return between(scalar.partial("world"), scalar)({scalar.partial("world"), mine});
  }

 private:
  static constexpr int kNone = -1;
  struct Node {
    int first;   // the value that is moved
    int second;  // the value that is added, or kNone
    int function;
    Operator move;
    std::vector<int> weights;  // by rank: how it is used there
  };
  std::vector<Node> nodes_;
  std::vector<Operator> results_;
  std::vector<bool> used_;
};

TEST(RandomProgram, OfWhichSomeWorkersUseSomeResultsHasItsGradient) {
  for_each_seed(some_of(150), [](std::uint64_t seed) {
    RandomSpaces random(seed);
    const Space X = next_space(random, random_ground(random, false),
                               {Placement::Replicated, Placement::Copied, Placement::Partial}, true);
    const Graph graph(random, X);
    const Vector x = random_vector(X, seed, true);
    const Vector v = random_vector(X, seed + 1, true);

    Chain chain;
    const Vector z = leaf(x);
    backward(graph.loss(z));

    const double found = sum_of_all(my_pairing(v, gradient(z).local()));
    const double expected =
        slope([&](const Vector& at) { return graph.loss(at).local().item<double>(); }, x, v);
    EXPECT_LE(std::abs(found - expected), 1e-7 * (1 + norm(v) * norm(gradient(z))))
        << "the gradient says " << found << ", differences " << expected;
  });
}

}  // namespace
}  // namespace riesz::testing
