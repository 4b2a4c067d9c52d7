// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "expect.h"
#include "expect_vectors.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/beside.h"
#include "riesz/testing/error.h"
#include "riesz/testing/print.h"

namespace riesz::testing {
namespace {

using Broadcast = Vector (*)(const Vector&, const std::string&, const Vector&, const std::string&);
using OnGlobal = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

struct Case {
  std::string name;
  Broadcast on_vectors;
  OnGlobal on_tensors;
};

const std::vector<Case> kCases{
    {"add", add, [](const at::Tensor& x, const at::Tensor& w) { return x.add(w); }},
    {"sub", sub, [](const at::Tensor& x, const at::Tensor& w) { return x.sub(w); }},
    {"mul", mul, [](const at::Tensor& x, const at::Tensor& w) { return x.mul(w); }},
    {"div", div, [](const at::Tensor& x, const at::Tensor& w) { return x.div(w); }},
};

bool has_terms_of_a_split(const Space& X) {
  bool has = false;
  for (int dim = 0; dim < X.dims(); ++dim) has = has || X.terms(dim);
  return has;
}

TEST(Broadcast, IsTorchsFromAnyPlacementBesideAny) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes{
      {"c", {5}}, {"tc", {3, 5}}, {"bc", {4, 5}}, {"b", {4}}, {"bt", {4, 3}}, {"", {}}, {"btc", {4, 3, 5}}};
  for (int i = 0; i < 60; ++i) {
    const Partition grid = random.grid(some_workers(random));
    const Space X = any_lay_out(random, Space(grid, {4, 3, 5}));
    const auto& [indices, shape] = shapes[static_cast<std::size_t>(random.any_of(7))];
    const Space W = any_lay_out(random, Space(grid, shape));
    const Case& op = kCases[static_cast<std::size_t>(random.any_of(4))];
    if (has_terms_of_a_split(X) && (op.name == "add" || op.name == "sub") && indices != "btc") continue;
    SCOPED_TRACE(op.name + " of \"" + indices + "\"");
    expect_as_global(
        {X, W}, [&](const std::vector<Vector>& x) { return op.on_vectors(x[0], "btc", x[1], indices); },
        [&](const std::vector<at::Tensor>& x) {
          std::vector<std::int64_t> view{1, 1, 1};
          for (std::size_t dim = 0; dim < indices.size(); ++dim)
            view[std::string("btc").find(indices[dim])] = shape[dim];
          return op.on_tensors(x[0], x[1].view(view));
        },
        op.name == "div" ? 1e-10 : 1e-12);
  }
}

TEST(Broadcast, ExpandsFromAnyPlacementIntoAny) {
  RandomSpaces random(static_cast<std::uint64_t>(3 + Partition::world().size()));
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes{
      {"c", {5}}, {"tc", {3, 5}}, {"b", {4}}, {"", {}}, {"btc", {4, 3, 5}}};
  int expanded = 0;
  for (int i = 0; i < 40; ++i) {
    const Partition grid = random.grid(some_workers(random));
    const Space Y = any_lay_out(random, Space(grid, {4, 3, 5}));
    const auto& [indices, shape] = shapes[static_cast<std::size_t>(random.any_of(5))];
    const Space W = any_lay_out(random, Space(grid, shape));
    bool partial = has_terms_of_a_split(Y);
    for (const Axis& axis : grid.axes()) partial = partial || Y.placement(axis.name) == Placement::Partial;
    if (partial) continue;
    ++expanded;
    SCOPED_TRACE("expand of \"" + indices + "\"");
    expect_as_global(
        {W}, [&](const std::vector<Vector>& x) { return expand(x[0], indices, Y, "btc"); },
        [&](const std::vector<at::Tensor>& x) {
          std::vector<std::int64_t> view{1, 1, 1};
          for (std::size_t dim = 0; dim < indices.size(); ++dim)
            view[std::string("btc").find(indices[dim])] = shape[dim];
          return x[0].view(view).expand({4, 3, 5});
        });
  }
  EXPECT_GT(expanded, 4);
  const Space Y = Space(Partition::simulated(2), {4, 3, 5}).partial("world");
  EXPECT_ERROR(expand(Vector(Space(Partition::simulated(2), {5}), at::ones({5})), "c", Y, "btc"), "expand");
}

TEST(Broadcast, ReadsFromAnotherPartition) {
  const Partition world = Partition::world();
  const Space X = Space(world, {6, 4}).sharded(0, "world");
  const Space W(world.subset({world.size() - 1}), {4});
  expect_as_global(
      {X, W}, [](const std::vector<Vector>& x) { return mul(x[0], "bc", x[1], "c"); },
      [](const std::vector<at::Tensor>& x) { return x[0].mul(x[1]); });
  expect_as_global(
      {X, W}, [](const std::vector<Vector>& x) { return add(x[0], "bc", x[1], "c"); },
      [](const std::vector<at::Tensor>& x) { return x[0].add(x[1]); });
}

TEST(Broadcast, ReadsBesideXAsXLies) {
  const Partition mesh = Partition::simulated(16).grid({{"dp", 2}, {"tp", 2}, {"pp", 2}, {"cp", 2}});
  const Space X = Space(mesh, {4, 6}).sharded(0, "dp").sharded(1, "tp");
  const Space W = Space(mesh, {6}).sharded(0, "tp");
  const auto read = [&](detail::BesideAs as, const Space& beside_x) {
    return detail::beside("it", as, beside_x, "bc", W, "c").range();
  };

  EXPECT_EQ(read(detail::BesideAs::sum, X), W.copied("dp"));
  EXPECT_EQ(read(detail::BesideAs::sum, X.partial("pp").copied("cp")),
            W.copied("dp").partial("pp").copied("cp"));
  EXPECT_EQ(read(detail::BesideAs::product, X.partial("pp")), W.copied("dp").copied("pp"));
  EXPECT_FALSE(detail::beside("it", detail::BesideAs::sum, X.partial("pp"), "bc", W, "c").sends());
}

TEST(Broadcast, KeepsWhatItPlannedApart) {
  const Partition world = Partition::world();
  for (const std::int64_t rows : {4, 6, 4}) {
    const Space X = Space(world, {rows, rows}).sharded(0, "world");
    const Space W(world, {rows});
    for (const char* indices : {"b", "c"}) {
      expect_as_global(
          {X, W}, [&](const std::vector<Vector>& x) { return add(x[0], "bc", x[1], indices); },
          [&](const std::vector<at::Tensor>& x) {
            return x[0].add(indices[0] == 'b' ? x[1].unsqueeze(1) : x[1]);
          });
    }
  }
}

TEST(Broadcast, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const auto zeros = [](const Space& X) { return distribute(X, draws(X.shape(), 1)); };
  const Vector x = zeros(Space(P, {4, 5})), w = zeros(Space(P, {5}));

  EXPECT_ERROR(add(x, "bc", zeros(Space(P, {5, 4})), "cb"),
               "add: the indices \"cb\" are not among \"bc\" in their order", "permute");
  EXPECT_ERROR(mul(x, "bc", w, "d"), "mul: the indices \"d\" are not among");
  EXPECT_ERROR(mul(x, "btc", w, "c"), "\"btc\" are 3 indices, for the dims of\n  (4, 5)");
  EXPECT_ERROR(mul(x, "cc", w, "c"), "the index c is twice in \"cc\"");
  EXPECT_ERROR(mul(x, "bc", w, "b"), "index b has 4 elements in\n  (4, 5)", "and 5 in\n  (5)");
  EXPECT_ERROR(mul(zeros(Space(P, {4, 6}).unit(1, 2).sharded(1, "world")), "bc", zeros(Space(P, {6})), "c"),
               "dim 1 of\n  (4, 6)", "in other pieces than it would be in units of 1", "Space::unit");
  const Split halo = Split::covering(4, {{{0, 3}}, {{1, 4}}});
  EXPECT_ERROR(add(zeros(Space(P, {4, 5}).sharded(0, "world", halo, true)), "bc", w, "c"),
               "added to each of the terms that dim 0 has", "between(X, Y)");
}

}  // namespace
}  // namespace riesz::testing
