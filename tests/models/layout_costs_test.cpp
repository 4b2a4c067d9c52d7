// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What a transformer block moves and holds at each layout: the published formulas, exactly, in sizes that all
// divide.
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/scale.h"
#include "training.h"

namespace riesz::testing {
namespace {

constexpr double b = 8, s = 8, h = 16;  // batch, sequence, width
const models::MinGptConfig kConfig{
    .layers = 1, .heads = 4, .width = 16, .vocabulary = 32, .context = 8, .dropout = 0};

/// Elements that leave each worker of an all-reduce of n elements over p.
double all_reduce(double n, double p) { return 2 * (p - 1) / p * n; }

struct Costs {
  double forward = 0, backward = 0;            // by gathers, scatter-sums, exchanges and shifts
  double forward_sums = 0, backward_sums = 0;  // by all-reduces
  double parameters = 0;                       // elements on a worker
};

/// All-reduces of the gradients of a block's norms and biases, of n parts each, over p workers.
double small_gradients(double norms_p, double norms_n, double up_p, double up_n, double down_p,
                       double down_n) {
  return 4 * all_reduce(h / norms_n, norms_p) + all_reduce(7 * h / up_n, up_p) +
         all_reduce(2 * h / down_n, down_p);
}

Costs one_d(double p) {
  const double sums = 2 * all_reduce(b * s * h, p);
  return {0, 0, sums, sums, 12 * h * h / p + 6 * h + 7 * h / p};
}

Costs sequence_parallel(double p) {
  const double moved = 4 * (p - 1) / p * b * s * h;
  const double again = 2 * (p - 1) / p * b * s * h;  // the inputs of both columns
  return {moved, moved + again, 0, small_gradients(p, 1, 1, 1, p, 1), 12 * h * h / p + 6 * h + 7 * h / p};
}

/// On depth x q x q; 2D has a depth of 1.
Costs two_and_half_d(double q, double d) {
  const double moved = (q - 1) / (q * q) * (7 * b * s * h / d + 12 * h * h);
  const double moments = 4 * all_reduce(b * s / (q * d), q);
  return {moved, 2 * moved, moments,
          moments + all_reduce(12 * h * h / (q * q), d) + small_gradients(q * d, q, q * d, q, q * d, q),
          12 * h * h / (q * q) + 13 * h / q};
}

Costs three_d(double q) {
  const double inputs = 7 * b * s * h + 12 * h * h, outputs = 9 * b * s * h;
  const double part = (q - 1) / (q * q * q);
  const double moments = 4 * all_reduce(b * s / (q * q), q);
  return {part * (inputs + outputs), part * (2 * inputs + outputs), moments,
          moments + small_gradients(q * q, q, q * q, q, q * q, q), 12 * h * h / (q * q * q) + 13 * h / q};
}

/// Every parameter is on every worker, and its gradients are summed.
double all_gradients(double p) { return all_reduce(12 * h * h, p) + small_gradients(p, 1, p, 1, p, 1); }

Costs ring(double p) {
  const double round = 2 * (p - 1) / p * b * s * h;  // keys and values of all the others
  return {round, round + 2 * b * s * h, 0, all_gradients(p), 12 * h * h + 13 * h};
}

Costs ulysses(double p) {
  const double exchanges = 4 * (p - 1) / (p * p) * b * s * h;
  return {exchanges, exchanges, 0, all_gradients(p), 12 * h * h + 13 * h};
}

struct LayoutCase {
  std::string name;
  MinGptSpaces spaces;
  Costs costs;
  double stream;  // workers over which the stream lies
  double rows;    // of them, those with other rows: each knows its rows' moments
};

/// Workers over which a row of the stream lies.
double row_parts(const LayoutCase& layout) { return layout.stream / layout.rows; }

/// Elements that a worker saves in a block's forward, for each token of the whole batch: the norms' moments,
/// the stream between the halves and after; then q, k, v, the attended heads and their log-sum-exps, and the
/// hidden layer before gelu. A norm's result is kept in fp64 where a row is whole, for LibTorch makes it.
double saved_a_token(const LayoutCase& layout) {
  const double inner = 3 * h + h + 4 + 4 * h;
  const double again = layout.name == "Ulysses" ? h : 0;  // attended heads, with sequences whole and sharded
  const double stream = row_parts(layout) > 1 ? 2 : 4;
  return stream * h / layout.stream + 2 * 2 / layout.rows + (inner + again) / Runtime::size();
}

/// And copies by which nodes give their results again: of the hidden layer's bias, and of the norms' weights
/// and biases where a row is in parts.
double copied_beside(const LayoutCase& layout) {
  const double q = row_parts(layout);
  const double hidden = layout.name == "ring" || layout.name == "Ulysses" ? 1 : q > 1 ? q : Runtime::size();
  return (q > 1 ? 4 * h / q : 0) + 4 * h / hidden;
}

std::vector<LayoutCase> layouts() {
  namespace of = spaces;
  const int p = Runtime::size();
  const auto on = [](const std::vector<Axis>& axes) { return Partition::world().grid(axes); };
  std::vector<LayoutCase> all{
      {"1D", {of::one_d(on({{"tp", p}})), kConfig}, one_d(p), 1, 1},
      {"SP", {of::sequence_parallel(on({{"tp", p}})), kConfig}, sequence_parallel(p), 1.0 * p, 1.0 * p}};
  if (p <= 4) {
    all.push_back({"ring", {of::ring(on({{"sp", p}})), kConfig}, ring(p), 1.0 * p, 1.0 * p});
    all.push_back({"Ulysses", {of::ulysses(on({{"sp", p}})), kConfig}, ulysses(p), 1.0 * p, 1.0 * p});
  }
  if (p == 4)
    all.push_back({"2D", {of::two_d(on({{"row", 2}, {"column", 2}})), kConfig}, two_and_half_d(2, 1), 4, 2});
  if (p == 8) {
    all.erase(all.begin(), all.end());  // 4 heads do not divide
    all.push_back({"2.5D",
                   {of::two_and_half_d(on({{"depth", 2}, {"row", 2}, {"column", 2}})), kConfig},
                   two_and_half_d(2, 2),
                   8,
                   4});
    all.push_back({"3D", {of::three_d(on({{"a", 2}, {"b", 2}, {"c", 2}})), kConfig}, three_d(2), 8, 4});
  }
  return all;
}

models::MinGptConfig computed_in(std::optional<at::ScalarType> type) {
  models::MinGptConfig config = kConfig;
  config.contraction.compute_type = type;
  return config;
}

/// Parameters take memory from when they are first asked for.
void draw(const Module& module) {
  for (const Parameter& parameter : module.parameters()) parameter.value();
}

/// A block, its input, and the loss Σ y of its output y.
struct Step {
  explicit Step(const MinGptSpaces& spaces, at::ScalarType type = at::kDouble,
                std::optional<at::ScalarType> compute = {})
      : root(spaces.all), block({root, "block"}, computed_in(compute)) {
    block.initialise(kSeed, type);
    draw(block);
    const Space X = spaces.stream.with_shape({8, 8, 16});
    x.emplace(X, at::ones(X.local_shape(), type).requires_grad_());
  }
  Root root;
  models::Block block;
  std::optional<Vector> x;
};

Traffic sums_of(const std::map<std::string, Traffic>& counted) {
  const auto found = counted.find("AllReduce");
  return found == counted.end() ? Traffic{} : found->second;
}

TEST(LayoutCosts, ABlockMovesThePublishedVolumes) {
  for (const LayoutCase& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    Step step(layout.spaces);
    Chain chain;
    Counters::instance().reset();
    const Vector y = step.block(*step.x);
    const Traffic forward = Counters::instance().total();
    const Traffic forward_sums = sums_of(Counters::instance().by_operation());
    const Vector ybar(dual(y.space()), at::ones(y.space().local_shape(), at::kDouble));
    Counters::instance().reset();
    std::vector<Vector> all{*step.x};
    for (const Parameter& parameter : step.block.parameters()) all.push_back(parameter.value());
    pullback(y, ybar, all);
    const Traffic backward = Counters::instance().total();
    const Traffic backward_sums = sums_of(Counters::instance().by_operation());

    EXPECT_EQ(static_cast<double>(forward.elements - forward_sums.elements), layout.costs.forward);
    EXPECT_EQ(static_cast<double>(backward.elements - backward_sums.elements), layout.costs.backward);
    EXPECT_EQ(static_cast<double>(forward_sums.elements), layout.costs.forward_sums);
    EXPECT_EQ(static_cast<double>(backward_sums.elements), layout.costs.backward_sums);
  }
}

/// Bytes, if what is multiplied and attended to is in bf16: of each element 2, but 4 of those that are sums
/// of gradients, of weights or of what goes round a ring, and of moments of norms.
std::pair<double, double> bytes_in_bfloat16(const LayoutCase& layout) {
  const Costs& of = layout.costs;
  const bool of_moments = layout.name != "1D";  // the sums of 1D are activations
  const double sums = of_moments ? 4 : 2;
  double in_fp32 = 0;
  if (layout.name == "2D" || layout.name == "2.5D") in_fp32 = 12 * h * h / 4;  // q = 2
  if (layout.name == "3D") in_fp32 = 12 * h * h / 8;
  if (layout.name == "ring") in_fp32 = 2 * b * s * h;  // keys' and values' gradients, added up on their way
  return {2 * of.forward + sums * of.forward_sums, 2 * of.backward + 2 * in_fp32 + sums * of.backward_sums};
}

TEST(LayoutCosts, ABlockInBFloat16MovesHalfTheBytesButSumsGradientsOfWeightsInFp32) {
  for (const LayoutCase& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    Step step(layout.spaces, at::kFloat, at::kBFloat16);
    Chain chain;
    const Traffic start = Counters::instance().total();
    const Vector y = step.block(*step.x);
    const Traffic middle = Counters::instance().total();
    std::vector<Vector> all{*step.x};
    for (const Parameter& parameter : step.block.parameters()) all.push_back(parameter.value());
    const Vector ybar(dual(y.space()), at::ones(y.space().local_shape(), at::kFloat));
    for (const Vector& gradient : pullback(y, ybar, all))
      EXPECT_EQ(gradient.local().scalar_type(), at::kFloat);
    const Traffic end = Counters::instance().total();
    const auto [forward, backward] = bytes_in_bfloat16(layout);
    EXPECT_EQ(y.local().scalar_type(), at::kFloat);
    EXPECT_EQ(static_cast<double>((middle - start).elements),
              layout.costs.forward + layout.costs.forward_sums);
    EXPECT_EQ(static_cast<double>((end - middle).elements),
              layout.costs.backward + layout.costs.backward_sums);
    EXPECT_EQ(static_cast<double>((middle - start).bytes), forward);
    EXPECT_EQ(static_cast<double>((end - middle).bytes), backward);
  }
}

TEST(LayoutCosts, ABlockHoldsThePublishedParametersAndGradients) {
  for (const LayoutCase& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    const MemoryMeter meter;
    Root root(layout.spaces.all);
    models::Block block({root, "block"}, kConfig);
    block.initialise(kSeed, at::kDouble);
    draw(block);
    const std::int64_t parameters = MemoryMeter::alive();
    EXPECT_EQ(static_cast<double>(parameters), 8 * layout.costs.parameters);
    {
      const Space X = layout.spaces.stream.with_shape({8, 8, 16});
      Chain chain;
      const Vector y = block(Vector(X, at::ones(X.local_shape(), at::kDouble)));
      backward(contract("btc,btc->", Vector(dual(y.space()), at::ones(y.space().local_shape(), at::kDouble)),
                        y, Space(X.partition(), {})));
    }
    EXPECT_EQ(MemoryMeter::alive(), 2 * parameters) << "a gradient for each parameter, and nothing else";
  }
}

/// What docs/concepts/parallelism.md shows.
TEST(LayoutCosts, LayoutsOfOnesOwn) {
  const models::MinGptConfig config = kConfig;
  const Partition mesh = Partition::simulated(8).grid({{"dp", 2}, {"tp", 4}});
  Layout layout{.name = "inner widths alone", .mesh = mesh, .places = {}};
  layout.places[Role::batch] = {.stream = {"dp"}, .inside = {"dp"}};
  layout.places[Role::inner] = {.inside = {"tp"}, .weight_in = {"tp"}, .weight_out = {"tp"}};
  models::MinGpt attention_is_replicated(layout, config);

  const std::int64_t C = config.width, F = 4 * C;
  ModelSpaces by_t(spaces::one_d(mesh), config.roles());
  by_t = by_t.with(ModelSpaces::Place::inside, "btf",
                   Space(mesh, {Space::any, Space::any, F}).sharded(0, "dp").sharded(1, "tp"))
             .with_weight("btc,cf->btf", Space(mesh, {C, F}))
             .with_weight("btf,fc->btc", Space(mesh, {F, C}));
  models::MinGpt by_tokens(by_t, config);

  const ModelSpaces inner(layout, config.roles());
  const auto parallel_on_tp = [](const ModelSpaces& of, const std::string& spec) {
    const detail::Indices letters = detail::parse_indices(spec);
    const auto space = [&](const std::string& which) {
      Space X = of.stream_or_inside(which);
      std::vector<std::int64_t> shape = X.shape();
      for (std::int64_t& n : shape) n = n == Space::any ? 8 : n;
      return X.with_shape(shape);
    };
    return Contraction(spec, space(letters[0]), of.weight(spec), space(letters[2])).parallel().at("tp");
  };
  for (const std::string spec : {"btc,cf->btf", "btf,fc->btc"}) {
    EXPECT_EQ(parallel_on_tp(by_t, spec), 't');
    EXPECT_EQ(parallel_on_tp(inner, spec), 'f');
  }
  EXPECT_EQ(parallel_on_tp(inner, "btc,cqhd->qbthd"), '-');
}

/// Elements of the two tables of V words, that of positions, and the last norm, on a worker.
double beyond_blocks(const LayoutCase& layout) {
  const double words = 2.0 * static_cast<double>(kConfig.vocabulary) * h;
  const double positions = static_cast<double>(kConfig.context) * h;
  if (layout.name == "1D" || layout.name == "SP") return words / Runtime::size() + positions + 2 * h;
  if (layout.name == "ring" || layout.name == "Ulysses") return words + positions + 2 * h;
  return (words + positions) / (layout.name == "3D" ? 8 : 4) + 2 * h / 2;  // q = 2
}

TEST(LayoutCosts, AModelHoldsItsBlocksAndTables) {
  for (const LayoutCase& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    const MemoryMeter meter;
    models::MinGpt model(layout.spaces.all, kConfig);
    model.initialise(kSeed, at::kDouble);
    draw(model);
    EXPECT_EQ(static_cast<double>(MemoryMeter::alive()),
              8 * (layout.costs.parameters + beyond_blocks(layout)));
  }
}

/// What is saved for backward, in bytes: the block's activations, each once and where it lies.
TEST(LayoutCosts, ABlockSavesItsActivationsWhereTheyLie) {
  for (const LayoutCase& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    Step step(layout.spaces);
    const MemoryMeter meter;
    Chain chain;
    const Vector y = step.block(*step.x);
    EXPECT_EQ(static_cast<double>(MemoryMeter::alive()),
              8 * (b * s * saved_a_token(layout) + copied_beside(layout)));
  }
}

/// A product of (M, K) and (K, N) on q x q, of more rows than anything else, and of fewer: no allocation of
/// its value and gradients is larger than a q-th of x or of w, which are gathered, and a q²-th of y.
TEST(LayoutCosts, TwoDNeverHoldsAWholeActivationOrWeight) {
  if (Runtime::size() != 4) return;  // q x q
  constexpr std::int64_t q = 2, T = 2, C = 16, H = 24;
  const Partition mesh = Partition::world().grid({{"row", q}, {"column", q}});
  models::MinGptConfig config = kConfig;
  config.hidden = H;
  const MinGptSpaces of(spaces::two_d(mesh), config);
  for (const std::int64_t B : {2, 256}) {
    const Space stream = of.stream.with_shape({B, T, C});
    const Space hidden = of.hidden.with_shape({B, T, H});
    const auto expect_parts = [&](const Space& X, const Space& W, const Space& Y) {
      const auto ones = [](const Space& S) {
        return Vector(S, at::ones(S.local_shape(), at::kDouble).requires_grad_());
      };
      const Vector x = ones(X), w = ones(W), ybar = ones(dual(Y));
      const MemoryMeter meter;
      Chain chain;
      const Vector y = contract("bti,io->bto", x, w, Y);
      pullback(y, ybar, {x, w});
      EXPECT_LE(MemoryMeter::largest(), 8 * std::max({X.numel() / q, W.numel() / q, Y.numel() / (q * q)}))
          << B << " sequences, from " << to_string(X) << " to " << to_string(Y);
      EXPECT_LT(MemoryMeter::largest(), 8 * (B == 2 ? W : X).numel());
    };
    expect_parts(stream, of.up_weight, hidden);
    expect_parts(hidden, of.down_weight, stream);
  }
}

}  // namespace
}  // namespace riesz::testing
