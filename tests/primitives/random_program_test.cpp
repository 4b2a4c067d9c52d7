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
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/comm/thread.h"
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

/// A random program in a channel of its own, of integers, with a gradient that goes back through it.
struct ProgramInChannel {
  ProgramInChannel(int channel, std::uint64_t seed)
      : number(channel),
        moves([&] {
          RandomSpaces random(seed);
          return random_program(random, false);
        }()),
        x_parts(whole(moves.front().domain(), seed)),
        ybar_parts(whole(dual(moves.back().range()), seed + 1)),
        x(leaf(part_of(moves.front().domain(), x_parts))),
        y(x),
        chain(channel) {
    chain.leave();
  }

  static std::vector<at::Tensor> whole(const Space& X, std::uint64_t seed) {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& part : random_parts(X, seed, true)) parts.push_back(part.mul(100).round().add(0.));
    return parts;
  }

  /// The gradient of y and, of its part of the way, of x, so that both accumulate.
  void back() {
    const Chain::Scope in(chain);
    const Vector ybar = part_of(dual(y.space()), ybar_parts);
    backward({y, x}, {ybar, {dual(x.space()), x.local().detach()}});
  }

  /// Is all as on one worker? The moves keep the vector meant, there and back.
  void expect_meaning() const {
    const Space& X = x.space();
    SCOPED_TRACE("channel " + std::to_string(number) + ": " + to_string(composed(moves)));
    const std::vector<at::Tensor> ys = all_parts(y.space().partition(), y.local().detach());
    if (y.space().partition().active()) {
      EXPECT_TRUE(at::equal(meant(y.space(), ys), meant(X, x_parts)));
    }
    const std::vector<at::Tensor> bars =
        all_parts(X.partition(), gradient(x).local().sub(x.local().detach()));
    if (X.partition().active()) {
      EXPECT_TRUE(at::equal(meant(dual(X), bars), meant(dual(y.space()), ybar_parts)));
    }
  }

  int number;
  std::vector<Operator> moves;
  std::vector<at::Tensor> x_parts;
  std::vector<at::Tensor> ybar_parts;
  Vector x;
  Vector y;
  Chain chain;
};

/// Every channel has a thread; each goes on as it comes, at another pace on each worker.
void in_threads(std::vector<std::unique_ptr<ProgramInChannel>>& channels, std::uint64_t seed,
                const std::function<void(ProgramInChannel&, std::minstd_rand&)>& f) {
  std::vector<std::unique_ptr<Thread>> threads;
  for (const auto& channel : channels)
    threads.push_back(std::make_unique<Thread>([&f, &channel = *channel, seed] {
      std::minstd_rand own(static_cast<unsigned>(seed * 1000 + channel.number * 10 + Runtime::rank() + 1));
      f(channel, own);
    }));
  for (const auto& thread : threads) thread->join();
}

void at_once(ProgramInChannel& channel, std::minstd_rand& own) {
  const Chain::Scope in(channel.chain);
  for (const Operator& move : channel.moves) {
    for (auto left = own() % 4; left > 0; --left) std::this_thread::yield();
    channel.y = own() % 2 == 0 ? move(channel.y) : move.start(channel.y).wait();
  }
}

/// One thread goes from chain to chain, on each worker in another order, round by round.
void in_turns(std::vector<std::unique_ptr<ProgramInChannel>>& channels, std::minstd_rand& own) {
  std::vector<ProgramInChannel*> order;
  std::size_t rounds = 0;
  for (const auto& channel : channels) {
    order.push_back(channel.get());
    rounds = std::max(rounds, channel->moves.size());
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::pair<ProgramInChannel*, Pending>> under_way;
    std::shuffle(order.begin(), order.end(), own);
    for (ProgramInChannel* channel : order) {
      if (round >= channel->moves.size()) continue;
      const Chain::Scope in(channel->chain);
      under_way.emplace_back(channel, channel->moves[round].start(channel->y));
    }
    std::shuffle(under_way.begin(), under_way.end(), own);
    for (auto& [channel, pending] : under_way) {
      const Chain::Scope in(channel->chain);
      channel->y = pending.wait();
    }
  }
}

/// 12 seeds on eight workers, or as many as RIESZ_DRAWS says.
int draws() {
  const char* draws = std::getenv("RIESZ_DRAWS");
  return draws != nullptr ? std::atoi(draws) : some_of(12);
}

TEST(RandomProgram, InChannelsThatInterleaveDifferentlyOnEachWorkerIsWhatItIsAlone) {
  for_each_seed(draws(), [](std::uint64_t seed) {
    RandomSpaces random(seed);
    std::vector<std::unique_ptr<ProgramInChannel>> channels;
    int number = 0;
    for (int left = 2 + random.any_of(7); left > 0; --left) {
      channels.push_back(
          std::make_unique<ProgramInChannel>(number, 100 * seed + 2 * static_cast<std::uint64_t>(left)));
      number += 1 + random.any_of(5);
    }
    std::minstd_rand own(static_cast<unsigned>(seed * 1000) + static_cast<unsigned>(Runtime::rank()) + 1);

    if (seed % 2 == 0) {
      in_threads(channels, seed, at_once);
    } else {
      in_turns(channels, own);
    }
    in_threads(channels, seed + 1, [](ProgramInChannel& channel, std::minstd_rand& mine) {
      for (auto left = mine() % 8; left > 0; --left) std::this_thread::yield();
      channel.back();
    });

    for (const auto& channel : channels) channel->expect_meaning();
  });
}

}  // namespace
}  // namespace riesz::testing
