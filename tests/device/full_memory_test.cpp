// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Where the device's memory is full, the error names the layer, whatever thread computes.
#include "full_memory.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "full_host.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/shares.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/store.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "there.h"

namespace riesz::testing {
namespace {

using ::testing::HasSubstr;

/// What is thrown, and the layer that it left.
struct Thrown {
  std::string text, layer;
};

Thrown thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::OutOfMemoryError& error) {
    return {error.what_without_backtrace(), LayerScope::left_by_exception()};
  }
  return {"nothing", ""};
}

/// Two layers, and LibTorch's own GELU between them.
struct TwoLayers {
  TwoLayers() {
    first.initialise(3, at::kDouble, pretend_device());
    second.initialise(3, at::kDouble, pretend_device());
  }

  /// `between`: called with what the GELU takes and gives.
  Vector operator()(const std::function<void(const at::Tensor&, const at::Tensor&)>& between = {}) {
    const Vector h = first(x);
    const at::Tensor activated = at::gelu(h.local());
    if (between) between(h.local(), activated);
    return second(Vector(h.space(), activated));
  }

  Space X{row(), {5, 7}}, hidden{row(), {5, 600}};
  Vector x{X, at::ones({5, 7}, at::device(pretend_device()).dtype(at::kDouble)).requires_grad_()};
  Linear first{"first", "bi,io->bo", X, Space(row(), {7, 600}), hidden, {.bias = false}};
  Linear second{"second", "bi,io->bo", hidden, Space(row(), {600, 7}), X, {.bias = false}};
};

TEST(FullMemory, InForwardIsOfTheLayer) {
  TwoLayers model;
  Chain chain;
  std::optional<FullMemory> full;
  const Thrown thrown =
      thrown_by([&] { model([&](const at::Tensor&, const at::Tensor&) { full.emplace(); }); });
  EXPECT_THAT(thrown.text, HasSubstr("out of memory. Tried to allocate"));
  EXPECT_EQ(thrown.layer, "second");
}

Thrown thrown_in_backward(bool of_ours) {
  TwoLayers model;
  Chain chain;
  std::optional<FullMemory> full;
  const auto fill = [&](const at::Tensor& gradient) {
    full.emplace();
    return gradient;
  };
  const Vector y = model([&](const at::Tensor& taken, const at::Tensor& given) {
    (of_ours ? taken : given).register_hook(fill);
  });
  return thrown_by([&] { backward(detail::add_shares(y.space(), {}, y.local().square().sum())); });
}

/// Backward runs in a thread of LibTorch's.
TEST(FullMemory, InBackwardIsOfTheLayer) {
  const Thrown thrown = thrown_in_backward(true);
  EXPECT_THAT(thrown.text, HasSubstr("out of memory. Tried to allocate"));
  EXPECT_EQ(thrown.layer, "first");
}

TEST(FullMemory, InBackwardOfLibTorchsOwnIsBetweenTwoLayers) {
  EXPECT_EQ(thrown_in_backward(false).layer, "first, or between it and second");
}

/// Of the pass that failed, not of the one before through the same nodes.
TEST(FullMemory, InABackwardThatIsRecordedIsBetweenTwoLayersToo) {
  TwoLayers model;
  Chain chain;
  bool fills = false;
  std::optional<FullMemory> full;
  const Vector y = model([&](const at::Tensor&, const at::Tensor& given) {
    given.register_hook([&](const at::Tensor& gradient) {
      if (fills) full.emplace();
      return gradient;
    });
  });
  const Vector ybar(dual(y.space()), at::ones_like(y.local()));
  const auto recorded = [&] { pullback(y, ybar, {model.x}, /*create_graph=*/true); };
  recorded();
  fills = true;
  const Thrown thrown = thrown_by(recorded);
  EXPECT_THAT(thrown.text, HasSubstr("out of memory. Tried to allocate"));
  EXPECT_EQ(thrown.layer, "first, or between it and second");
}

/// The way back is as wide as here, and there is no memory to walk it.
TEST(FullMemory, OfTheHostTooLeavesTheErrorWithoutALayer) {
  TwoLayers model;
  Chain chain;
  std::optional<FullMemory> full;
  FullHost host;
  const Vector y = model([&](const at::Tensor&, const at::Tensor& given) {
    given.register_hook([&](const at::Tensor& gradient) {
      full.emplace();
      host.fill();
      return gradient;
    });
  });
  const at::Tensor wide = at::stack(std::vector<at::Tensor>(5000, y.local().sum())).sum();
  const Thrown thrown = thrown_by([&] { backward(detail::add_shares(y.space(), {}, wide)); });
  EXPECT_TRUE(host.refused()) << "nothing was looked for";
  EXPECT_THAT(thrown.text, HasSubstr("out of memory. Tried to allocate"));
  EXPECT_EQ(thrown.layer, "");
}

TEST(FullMemory, InAnOptimizerIsOfItsStateOrStep) {
  TwoLayers model;
  const std::shared_ptr<Store> store = whole(model.first.parameters());
  std::optional<Adam> adam;
  const auto said_by = [](const std::function<void()>& call) {
    return thrown_by([&] {
             const FullMemory full;
             call();
           })
        .text;
  };
  EXPECT_THAT(said_by([&] { adam.emplace(store); }), HasSubstr("(Adam: gradients)"));
  Chain chain;
  const Vector y = model();
  backward(detail::add_shares(y.space(), {}, y.local().square().sum()));
  EXPECT_THAT(said_by([&] { adam.emplace(store); }), HasSubstr("(Adam: first)"));
  adam.emplace(store);
  EXPECT_THAT(said_by([&] { adam->step(); }), HasSubstr("(Adam: step 1"));
}

}  // namespace
}  // namespace riesz::testing
