// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Layers and losses on another device.
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "layer_runs.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/partition/pairing.h"
#include "riesz/testing/error.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/testing/random.h"
#include "there.h"

namespace riesz::testing {
namespace {

TEST(OnADevice, LayersAreThoseOfTheCpu) {
  for (const NamedRun& each : layer_runs()) {
    SCOPED_TRACE(each.name);
    expect_close_there(each.run);
  }
}

/// LibTorch lists the operators that the CPU calls among those that a GPU does not do in one order.
TEST(OnADevice, PoolsOfThreeDimsAddInOneOrder) {
  const auto called_on = [](at::Device device) {
    return operators_of([&] {
      for (const NamedRun& each : volume_runs())
        if (each.name.find("pool") != std::string::npos) each.run(device);
    });
  };
  const std::set<std::string> here = called_on(at::kCPU), called = called_on(pretend_device());
  for (const char* name : {"aten::max_pool3d_with_indices_backward", "aten::avg_pool3d_backward"}) {
    EXPECT_EQ(here.count(name), 1U) << name;
    EXPECT_EQ(called.count(name), 0U) << name;
  }
  EXPECT_GE(called.count("aten::scatter_add_") + called.count("aten::scatter_add"), 1U);
  EXPECT_EQ(called.count("aten::avg_pool2d_backward"), 1U);
}

TEST(OnADevice, TwoDevicesInOneCallAreAnError) {
  const Space X(row(), {5, 7}), Y(row(), {5, 6});
  const Vector x = random_vector(X, 1, true);
  const std::string both = "vectors on two devices";
  const std::string remedy = "bring one to the other's";
  EXPECT_ERROR(pairing(there(x), x), "pairing of " + both, "on pretend:0", "on cpu", remedy);
  EXPECT_ERROR(x + there(x), "x + y of " + both, "on cpu", "on pretend:0", remedy);
  EXPECT_ERROR(there(x) - x, "x - y of " + both, remedy);

  Linear linear("linear", "bi,io->bo", X, Space(row(), {7, 6}).sharded(0, "a"), Y, {});
  linear.initialise(3, at::kDouble, pretend_device());
  EXPECT_ERROR(linear(x), "contract of " + both, "on cpu", "on pretend:0", remedy);
  LayerNorm layer_norm("norm", X);
  layer_norm.initialise(3, at::kDouble, pretend_device());
  EXPECT_ERROR(layer_norm(x), "LayerNorm of " + both, remedy);
  RmsNorm rms_norm("norm", X);
  rms_norm.initialise(3, at::kDouble, pretend_device());
  EXPECT_ERROR(rms_norm(x), "RmsNorm of " + both, remedy);
  const Vector ids(Space(row(), {5}), at::zeros({5}, at::kLong));
  Embedding embedding("table", ids.space(), Space(row(), {11, 4}).sharded(0, "a"), Space(row(), {5, 4}));
  embedding.initialise(3, at::kDouble, pretend_device());
  EXPECT_ERROR(embedding(ids), "Embedding of " + both, remedy);
  EXPECT_ERROR(cross_entropy(there(x), ids), "cross_entropy of " + both, remedy);
  EXPECT_ERROR(bce_with_logits_loss(there(x), x), "bce_with_logits_loss of " + both, remedy);
}

}  // namespace
}  // namespace riesz::testing
