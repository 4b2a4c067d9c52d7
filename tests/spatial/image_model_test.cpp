// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A network of all layers of images, trained on meshes that shard batch, channels, height and width.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../nn/expect.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/spatial/adaptive_pool.h"
#include "riesz/nn/spatial/batch_norm.h"
#include "riesz/nn/spatial/channel_dropout.h"
#include "riesz/nn/spatial/conv.h"
#include "riesz/nn/spatial/group_norm.h"
#include "riesz/nn/spatial/instance_norm.h"
#include "riesz/nn/spatial/pad.h"
#include "riesz/nn/spatial/pool.h"
#include "riesz/nn/spatial/upsample.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/scale.h"

namespace riesz::testing {
namespace {

/// Images of these extents, sharded by the axes b, c, h and w, where the mesh has them.
Space images(const Partition& mesh, const std::vector<std::int64_t>& shape) {
  Space S(mesh, shape);
  const std::string dims = "bchw";
  for (const Axis& axis : mesh.axes()) S = S.sharded(static_cast<int>(dims.find(axis.name)), axis.name);
  return S;
}

class Network : public Layer<Network> {
 public:
  explicit Network(const Partition& mesh)
      : Layer("net"),
        mesh_(mesh),
        pad({*this, "pad"}, of(4, 8, 7), of(4, 10, 9), {1}, {1}, PaddingMode::circular),
        conv({*this, "conv"}, "bchw,ocrs->bohw", of(4, 10, 9), of(6, 8, 7), {3}, {.bias = false}),
        batch({*this, "batch"}, of(6, 8, 7)),
        greatest({*this, "greatest"}, of(6, 8, 7), of(6, 4, 4),
                 {.kernel = {3}, .stride = {2}, .padding = {1}}),
        group({*this, "group"}, 2, of(6, 4, 4)),
        up({*this, "up"}, of(6, 4, 4), of(6, 9, 9), Sampling::linear),
        average({*this, "average"}, of(6, 9, 9), of(6, 4, 4), {.kernel = {3}, .stride = {2}}),
        instance({*this, "instance"}, of(6, 4, 4), {.affine = true}),
        drop({*this, "drop"}, 0.3),
        fitted({*this, "fitted"}, of(6, 4, 4), of(6, 3, 2)) {}

  Vector forward(const Vector& x) {
    const Vector features = greatest(relu(batch(conv(pad(x)))));
    return fitted(drop(instance(average(up(silu(group(features)))))));
  }
  std::string describe() const override { return "network"; }

 private:
  Space of(std::int64_t channels, std::int64_t height, std::int64_t width) const {
    return images(mesh_, {4, channels, height, width});
  }

  Partition mesh_;
  Pad pad;
  Conv conv;
  BatchNorm batch;
  MaxPool greatest;
  GroupNorm group;
  Upsample up;
  AvgPool average;
  InstanceNorm instance;
  ChannelDropout drop;
  AdaptiveAvgPool fitted;
};

TrainingRun train(const Partition& mesh, int steps) {
  Network net(mesh);
  net.initialise(11, at::kDouble);
  TrainingRun run;
  run.add_initial(net);
  for (int step = 0; step < steps; ++step) {
    const ContextScope scope({.training = true, .seed = 11, .step = step});
    Chain chain;
    const Vector x = leaf(images(mesh, {4, 4, 8, 7}), draws({4, 4, 8, 7}, static_cast<std::uint64_t>(step)));
    const Vector y = net(x);
    const Vector loss = mean(square(y), {}, {.all_reduce = true});
    backward(loss);
    const std::string at = " of step " + std::to_string(step);
    run.results["output" + at] = TrainingRun::gathered(net, y);
    run.results["loss" + at] = loss.local().detach().clone();
    run.results["gradient of x" + at] = TrainingRun::gathered(net, gradient(x));
    if (step == steps - 1) run.add_gradients(net);
    for (Parameter& each : net.parameters()) {
      if (!each.trained()) continue;
      each.set(Vector(each.space(), each.get().local().sub(each.gradient().local(), 0.1)));
      each.zero_gradient();
    }
  }
  run.add_weights(net);
  return run;
}

TEST(ImageModel, TrainsAsOnOneWorkerWhereverImagesLie) {
  std::vector<std::vector<Axis>> all{{{"b", 2}},
                                     {{"c", 2}},
                                     {{"w", 2}},
                                     {{"h", 3}},
                                     {{"c", 3}},
                                     {{"h", 2}, {"w", 2}},
                                     {{"c", 2}, {"b", 2}},
                                     {{"w", 3}, {"c", 2}},
                                     {{"h", 6}},
                                     {{"b", 2}, {"h", 2}, {"w", 2}},
                                     {{"h", 2}, {"c", 2}, {"w", 2}},
                                     {{"h", 8}}};
  if (Runtime::size() == 1) all.push_back({{"h", 1}});
  std::vector<Partition> meshes;
  for (const std::vector<Axis>& axes : all) {
    int workers = 1;
    for (const Axis& axis : axes) workers *= axis.extent;
    if (workers == Runtime::size()) meshes.push_back(Partition::world().grid(axes));
  }
  EXPECT_SCALE_EQUIVALENT(train, meshes, 3);
}

}  // namespace
}  // namespace riesz::testing
