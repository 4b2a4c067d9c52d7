// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What docs/concepts/algebra.md shows, on its 2 x 4 workers: a test compares the page with this file.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "riesz/comm/thread.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

Partition two_by_four() { return Partition::world().grid({{"dp", 2}, {"tp", 4}}); }

TEST(Algebra, Workers) {
  Partition world = Partition::world();
  Partition mesh = world.grid({{"dp", 2}, {"tp", 4}});                  // row-major: tp is the fastest
  Partition fibre = mesh.along("tp");                                   // those with the same dp as mine
  Partition slice = mesh.at("dp", 1);                                   // all with dp = 1, wherever I am
  Partition finer = mesh.factor("tp", {{"a", 2}, {"b", 2}});            // one axis seen as two
  Partition some = world.subset({5, 2, 3});                             // ranks 5, 2 and 3, in this order
  Partition planned = Partition::simulated(1024).grid({{"tp", 1024}});  // workers that need not exist

  EXPECT_TRUE(fibre.active());
  EXPECT_EQ(to_string(fibre), "(tp=4)");
  EXPECT_EQ(slice.world_rank(0), 4);
  EXPECT_EQ(to_string(finer), "(dp=2, a=2, b=2)");
  EXPECT_EQ(some.world_rank(0), 5);
  EXPECT_FALSE(planned.real());
}

TEST(Algebra, Vectors) {
  const Partition mesh = two_by_four();
  Space X = Space(mesh, {5, 97}).sharded(0, "dp").sharded(1, "tp");  // 3 and 2 rows; 25, 24, 24, 24 columns
  Space S = Space(mesh, {5, 97}).sharded(0, "dp").partial("tp");     // terms of a sum along tp
  EXPECT_EQ(X.box(7), (Box{{3, 5}, {73, 97}}));                      // the global indices of any worker
  EXPECT_EQ(dual(S), S.copied("tp"));                                // what its gradients are in
  Vector x = distribute(S, at::ones({5, 97}, at::kDouble));          // from a global tensor
  Vector y = distribute(dual(S), at::ones({5, 97}, at::kDouble));
  EXPECT_EQ(pairing(x, y), 485);  // <x, y> of x in S, y in dual(S)
}

TEST(Algebra, Splits) {
  const Partition mesh = two_by_four();
  Space uneven = Space(mesh, {9}).sharded(0, "tp", Split::sizes({2, 0, 3, 4}));
  Space causal = Space(mesh, {16}).sharded(0, "tp", Split::zigzag(16, 4));  // 8 chunks: worker i has i and 7 − i
  Split halo = Split::covering(8, {{{0, 3}}, {{1, 5}}, {{3, 7}}, {{5, 8}}});
  Space near = Space(mesh, {8}).sharded(0, "tp", halo);  // where intervals overlap: copies
  EXPECT_EQ(causal.boxes(0), (Boxes{{{0, 2}, {14, 16}}}));

  EXPECT_EQ(uneven.local_shape(1), (std::vector<std::int64_t>{0}));
  EXPECT_TRUE(near.copies(0));
  EXPECT_TRUE(dual(near).terms(0));
}

TEST(Algebra, Moves) {
  const at::NoGradGuard guard;
  const Partition mesh = two_by_four();
  const Space X = Space(mesh, {5, 97}).sharded(0, "dp").sharded(1, "tp");
  const Space S = Space(mesh, {5, 97}).sharded(0, "dp").partial("tp");
  const Vector x = random_vector(S, 1);
  const int rank = mesh.rank();
  Operator A = between(S, X);
  EXPECT_EQ(to_string(A), "ReduceScatter over tp: Partial -> Sharded(1)");
  Traffic price = A.traffic(rank);  // elements and messages that leave that worker
  Vector y = A(x);                  // collective over the partition
  EXPECT_EQ(adjoint(A), between(dual(X), dual(S)));
  EXPECT_ERROR(A * A, "A * B needs A.domain() == B.range()");  // naming both spaces

  EXPECT_EQ(price.messages, 3);
  EXPECT_LE(meant(y).sub(meant(x)).abs().max().item<double>(), 1e-13);
}

TEST(Algebra, MovesOnTwoAxes) {
  const Partition mesh = two_by_four();
  const Space S = Space(mesh, {5, 97}).sharded(0, "dp").partial("tp");
  Space Z = Space(mesh, {5, 97}).sharded(1, "tp");  // dp: Replicated
  Operator B = between(S, Z);
  EXPECT_EQ(B.steps().size(), 2);
  EXPECT_EQ(to_string(*B.steps()[0]), "ReduceScatter over tp: Partial -> Sharded(1)");
  EXPECT_EQ(to_string(*B.steps()[1]), "AllGather over dp: Sharded(0) -> Replicated");
  EXPECT_EQ(B.traffic(0), (Traffic{216 + 75, 0, 3 + 1}));  // elements, bytes, messages
  EXPECT_EQ(adjoint(B).traffic(0), (Traffic{225, 0, 3}));  // a Slice, then an AllGather over tp

  EXPECT_EQ(adjoint(B).steps()[0]->name(), "Slice");
  EXPECT_EQ(to_string(*adjoint(B).steps()[1]), "AllGather over tp: Sharded(1) -> Copied");
}

TEST(Algebra, MovesBetweenPartitions) {
  const Partition mesh = two_by_four();
  Space stage_0 = Space(mesh.at("dp", 0), {5, 97}).sharded(1, "tp");
  Space stage_1 = Space(mesh.at("dp", 1), {5, 97}).sharded(1, "tp");
  Space root(mesh.at("dp", 0).at("tp", 0), {5, 97});
  EXPECT_EQ(to_string(between(stage_0, stage_1)), "SendRecv: (tp=4) -> (tp=4)");
  EXPECT_EQ(between(root, stage_1).steps()[0]->name(), "Scatter");
  EXPECT_EQ(between(root, Space(mesh, {5, 97}).copied("dp").copied("tp")).steps()[0]->name(), "Broadcast");
}

TEST(Algebra, TwoHalves) {
  const at::NoGradGuard guard;
  const Partition mesh = two_by_four();
  const Space S = Space(mesh, {5, 97}).partial("tp");
  const Operator A = between(S, S.copied("tp"));
  const Vector x = random_vector(S, 1);
  const auto compute = [] {};
  Pending pending = A.start(x);  // messages move in the background
  compute();
  Vector y = pending.wait();

  EXPECT_SAME_BITS(y.local(), A(x).local());
}

TEST(Algebra, Order) {
  const Partition mesh = two_by_four();
  const Space X = Space(mesh, {6, 3}).sharded(0, "dp");
  const Space Y = Space(mesh, {6, 5}).sharded(0, "dp").sharded(1, "tp");
  Linear model("model", "bi,io->bo", X, Y);
  model.initialise(1, at::kDouble);
  const Vector ids = distribute(X, at::ones({6, 3}, at::kDouble));
  const Vector targets = distribute(Space(mesh, {6}).sharded(0, "dp"), at::zeros({6}, at::kLong));
  Chain chain;
  Vector loss = cross_entropy(model(ids), targets).mean();
  backward(loss);  // it starts from a gradient of 1, on every worker

  EXPECT_EQ(loss.space(), Space(mesh, {}));
}

TEST(Algebra, Channels) {
  const Partition mesh = two_by_four();
  const Operator A = between(Space(mesh, {4, 8}).sharded(1, "tp"), Space(mesh, {4, 8}).copied("tp"));
  const Vector x(A.domain(), random_vector(A.domain(), 1).local().requires_grad_());
  const Vector ybar = random_vector(dual(A.range()), 2);
  const Vector zbar = random_vector(dual(A.range()), 3);
  Chain first(1);  // two micro-batches, each with a channel of messages of its own
  Chain second(2);
  Vector z = A(x);  // in the one entered last
  second.leave();
  Vector y = A(x);  // in the other
  first.leave();    // nobody is in either

  Thread([&] {
    Chain::Scope in(second);  // entered again, and left at the end of the scope
    backward(z, zbar);        // any vector, with its gradient in the dual space
  }).join();
  first.enter();
  backward({y, 2 * y}, {ybar, zbar});  // several at once

  const at::NoGradGuard guard;
  const at::Tensor expected = adjoint(A)(ybar).local().add(adjoint(A)(zbar).local(), 3);
  EXPECT_TRUE(gradient(x).local().allclose(expected, 1e-12, 1e-12));
}

TEST(Algebra, Layers) {
  const Partition mesh = two_by_four();
  const Space X = Space(mesh, {4, 3, 8}).sharded(0, "dp");
  const Space W = Space(mesh, {8, 16}).sharded(1, "tp");
  const Space Y = Space(mesh, {4, 3, 16}).sharded(0, "dp").sharded(2, "tp");
  const int rank = mesh.rank();
  Contraction form("bti,io->bto", X, W, Y);
  EXPECT_EQ(form.parallel().at("dp"), 'b');  // the parallel index of each axis
  EXPECT_EQ(form.parallel().at("tp"), 'o');
  EXPECT_EQ(to_string(form.read(0)), "Copy over tp: Replicated -> Copied");
  EXPECT_EQ(form.forward_traffic(rank), Traffic{});  // forward sends nothing

  EXPECT_NE(form.backward_traffic(rank), Traffic{});
}

}  // namespace
}  // namespace riesz::testing
