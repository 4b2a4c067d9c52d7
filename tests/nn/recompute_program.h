// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A small net, and what a program of it leaves when some of its calls are run again in backward and when none
// is.
#pragma once

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "expect.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/recompute/recompute.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {

inline constexpr std::int64_t kRows = 6, kWidth = 5, kInner = 7;

/// x + drop(down(gelu(up(norm(x))))), as Megatron has it along tp.
struct Mlp : Layer<Mlp> {
  Mlp(OwnerAndName place, const Space& X, const Space& H)
      : Layer(std::move(place)),
        norm({*this, "norm"}, X),
        up({*this, "up"}, "bi,io->bo", X, H),
        down({*this, "down"}, "bi,io->bo", H, X),
        drop({*this, "drop"}, 0.3) {}

  Vector forward(const Vector& x) { return x + drop(down(activate("gelu", up(norm(x))))); }
  std::string describe() const override { return "MLP"; }

  LayerNorm norm;
  Linear up, down;
  Dropout drop;
};

/// Rows over dp; along tp what is between the layers is Replicated, or sharded by rows too (`by_rows`).
struct Net : Module {
  explicit Net(const Partition& mesh, bool by_rows = false)
      : Module(""),
        X(by_rows ? rows(mesh).sharded(0, "tp") : rows(mesh)),
        H(Space(mesh, {kRows, kInner}).sharded(0, "dp").sharded(1, "tp")),
        a({*this, "a"}, X, H),
        b({*this, "b"}, X, H),
        x(leaf(X, testing::draws({kRows, kWidth}, 9))) {
    initialise(3, at::kDouble);
  }
  std::string describe() const override { return "net"; }

  auto a_() {
    return [this](const Vector& v) { return a(v); };
  }
  auto b_() {
    return [this](const Vector& v) { return b(v); };
  }

  Space X, H;
  Mlp a, b;
  Vector x;

 private:
  static Space rows(const Partition& mesh) { return Space(mesh, {kRows, kWidth}).sharded(0, "dp"); }
};

struct Plainly {
  template <typename F, typename... Arguments>
  auto operator()(F f, const Arguments&... arguments) const {
    return f(arguments...);
  }
};
struct Again {
  RecomputeOptions options = {};
  template <typename F, typename... Arguments>
  auto operator()(F f, const Arguments&... arguments) const {
    return recompute(options, f, arguments...);
  }
};

inline Context context_of(std::int64_t step) { return {.training = true, .seed = 1, .step = step}; }

using Bits = std::vector<at::Tensor>;  // undefined where there is none

/// The gradients of x and of all parameters, which are let go.
inline Bits taken_gradients(Net& net) {
  Bits all{net.x.local().grad()};
  net.x.local().mutable_grad().reset();
  for (Parameter& parameter : net.parameters()) {
    all.push_back(parameter.leaf().grad());
    parameter.zero_gradient();
  }
  return all;
}

/// What a program leaves: the values of its vectors, and gradients over two micro-batches, whose backward is
/// in another context.
template <typename Program, typename Way>
Bits left_by(const Program& program, Net& net, const Way& way) {
  Bits bits;
  for (const std::int64_t step : {0, 1}) {
    Chain chain;
    std::vector<Vector> ys, ybars;
    {
      const ContextScope context(context_of(step));
      ys = program(net, way);
    }
    const ContextScope other(context_of(100));
    for (const Vector& y : ys) {
      ybars.push_back(distribute(dual(y.space()), draws(y.space().shape(), 20 + ybars.size())));
      bits.push_back(y.local().detach());
    }
    backward(ys, ybars);
  }
  for (const at::Tensor& gradient : taken_gradients(net)) bits.push_back(gradient);
  return bits;
}

inline void expect_bits(const Bits& bits, const Bits& expected) {
  ASSERT_EQ(bits.size(), expected.size());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    ASSERT_EQ(bits[i].defined(), expected[i].defined()) << i;
    if (!bits[i].defined()) continue;
    EXPECT_TRUE(at::equal(bits[i], expected[i])) << i << "\n" << bits[i] << expected[i];
  }
}

/// Has a program the same bits when it runs regions again, on every grid, whole inputs kept or pieces?
template <typename Program>
void expect_same_bits(const Program& program) {
  for (const Partition& mesh : meshes()) {
    for (const bool by_rows : {false, true}) {
      SCOPED_TRACE(::testing::Message() << to_string(mesh) << (by_rows ? ", by rows" : ""));
      Net net(mesh, by_rows);
      const Bits expected = left_by(program, net, Plainly());
      expect_bits(left_by(program, net, Again()), expected);
      expect_bits(left_by(program, net, Again{{.pieces_over = {"tp"}}}), expected);
    }
  }
}

}  // namespace riesz::testing
