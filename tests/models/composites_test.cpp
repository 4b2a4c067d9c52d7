// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What goes from stage to stage: several vectors, in structs and tuples, of integers and complex numbers.
#include <ATen/ops/arange.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/real.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/scale.h"

namespace riesz::testing {
namespace {

struct State {
  Vector hidden;
  std::optional<Vector> cell;
  std::string name;

  template <typename F>
  void each_vector(F&& f) {
    f(hidden);
    riesz::each_vector(cell, f);
  }
};

class Encoder : public Layer<Encoder> {
 public:
  explicit Encoder(OwnerAndName place) : Layer(std::move(place)) {}
  State forward(const Vector& x) {
    const Vector y = linear_(x);
    return {y, 2.0 * y, "encoded"};
  }
  std::string describe() const override { return "encoder"; }

 private:
  Linear linear_{*this, "linear", "bc,cf->bf"};
};

class Middle : public Layer<Middle> {
 public:
  explicit Middle(OwnerAndName place) : Layer(std::move(place)) {}
  std::pair<Vector, int> forward(const State& state, std::tuple<Vector, double> more, const Vector& counts,
                                 const Vector* unmoved) {
    const auto& [turns, factor] = more;
    const Vector real = map("real", turns, [](const at::Tensor& z) { return at::real(z).contiguous(); });
    const Vector count = map("count", counts, [](const at::Tensor& n) { return n.to(at::kDouble); });
    EXPECT_EQ(unmoved != nullptr && state.name == "encoded", true);
    return {linear_(state.hidden * real + *state.cell * count) * factor, 3};
  }
  std::string describe() const override { return "middle"; }

 private:
  Linear linear_{*this, "linear", "bf,fc->bc"};
};

class Decoder : public Layer<Decoder> {
 public:
  explicit Decoder(OwnerAndName place) : Layer(std::move(place)) {}
  Vector forward(const std::pair<Vector, int>& y, std::vector<State>& skips) {
    return y.first * y.second + linear_(skips.at(0).hidden);
  }
  std::string describe() const override { return "decoder"; }

 private:
  Linear linear_{*this, "linear", "bf,fc->bc"};
};

class UShape : public Layer<UShape> {
 public:
  explicit UShape(const riesz::Layout& layout)
      : Layer("", {layout, {{'b', {Role::batch}}, {'c', {Role::width, 4}}, {'f', {Role::inner, 5}}}}) {}
  Vector forward(const Vector& x, const Vector& turns, const Vector& counts) {
    const State state = encoder(x);
    std::vector<State> skips{state};
    const Vector y = decoder(middle(state, std::tuple(turns, 0.5), counts, &x), skips);
    EXPECT_TRUE(skips[0].hidden.space() == state.hidden.space());  // the caller's stays where it is
    return y;
  }
  std::string describe() const override { return "U"; }

  Encoder encoder{{*this, "encoder"}};
  Middle middle{{*this, "middle"}};
  Decoder decoder{{*this, "decoder"}};
};

TrainingRun train(const std::vector<riesz::Layout>& layouts) {
  UShape model(spaces::placed(layouts, {{"middle", 1}, {"decoder", 2}}));
  model.initialise(3, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  const at::Tensor x = at::arange(28, at::kDouble).view({7, 4}).sin();
  const at::Tensor n = at::arange(35, at::kLong).view({7, 5});
  const Space inner = model.middle.spaces().inside("bf").with_shape({7, 5});
  const Space last = model.decoder.spaces().stream("bc").with_shape({7, 4});
  for (int step = 0; step < 2; ++step) {
    Chain chain;
    // The last stage has what the middle reads; a natural map brings it.
    const Vector y = model(distribute(model.encoder.spaces().stream("bc").with_shape({7, 4}), x),
                           distribute(inner, at::complex(n.cos(), n.sin())),
                           distribute(model.decoder.spaces().inside("bf").with_shape({7, 5}), n));
    EXPECT_EQ(y.space(), last);
    const Vector loss = mse_loss(y, distribute(last, x)).mean();
    backward(loss);
    run.results[concat("loss ", step)] = TrainingRun::gathered(model, loss);
  }
  run.add_gradients(model);
  return run;
}

TEST(PlacedComposites, AreTheOneWorkersModel) {
  const auto on = [](const std::vector<int>& ranks, bool dp) {
    const int n = static_cast<int>(ranks.size());
    return spaces::one_d(Partition::world().subset(ranks).grid({{"dp", dp ? n : 1}, {"tp", dp ? 1 : n}}));
  };
  const int n = Runtime::size();
  std::vector<int> rest;
  for (int rank = n > 1 ? 1 : 0; rank < n; ++rank) rest.push_back(rank);
  const riesz::Layout alone = on({Runtime::rank()}, true);
  const TrainingRun reference = train({alone, alone, alone});
  EXPECT_TRUE(compare_runs(train({on({0}, true), on(rest, true), on({n - 1}, true)}), reference));
  EXPECT_TRUE(compare_runs(train({on(rest, false), on({0}, true), on(rest, true)}), reference));
}

}  // namespace
}  // namespace riesz::testing
