// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A few layers, each a unit, and programs that train them.
#pragma once

#include <ATen/ops/linspace.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/optim/sgd.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/scale.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {

inline constexpr std::int64_t kWidth = 5, kBatch = 7;

/// Some layers of one width over the batch, each a unit; and one that has the first's weight too.
struct Layers : Module {
  explicit Layers(const Partition& mesh, at::ScalarType type = at::kDouble)
      : Module(""),
        stream(Space(mesh, {Space::any, kWidth}).sharded(0, "dp")),
        a({*this, "a"}, "bi,io->bo", stream, stream),
        b({*this, "b"}, "bi,io->bo", stream, stream),
        c({*this, "c"}, "bi,io->bo", stream, stream),
        tied({*this, "tied"}, "bi,io->bo", stream, a.weight(), stream, {.bias = false}) {
    initialise(3, type);
  }
  std::string describe() const override { return "layers"; }

  Space stream;
  Linear a, b, c, tied;
};

inline Vector input(const Layers& layers) {
  const at::Tensor x = at::linspace(-1, 1, kBatch * kWidth, at::kDouble).view({kBatch, kWidth});
  return distribute(layers.stream.with_shape({kBatch, kWidth}), x.to(layers.a.weight().type()));
}

/// Σ y² over the batch.
inline Vector loss_of(const Vector& y) {
  const Space each = y.space();
  Space terms(each.partition(), {});
  terms = terms.partial("dp");
  Space loss(each.partition(), {});
  return between(terms, loss)(Vector(terms, y.local().square().sum()));
}

using Program = std::function<void(Layers& layers, int step)>;

inline Partition all_workers() { return Partition::world().grid({{"dp", Runtime::size()}}); }
inline Partition alone() { return Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}}); }

inline TrainingRun train(const Partition& mesh, const Program& program, const ZeroOptions* options) {
  Layers layers(mesh);
  TrainingRun run;
  run.add_initial(layers);
  std::optional<Zero> zero;
  if (options != nullptr) zero.emplace(layers.parameters(), *options);
  SGD optimizer(zero ? zero->store() : whole(layers.parameters()), {.learning_rate = 0.01});
  for (int step = 0; step < 4; ++step) {
    program(layers, step);
    if (step == 0) run.add_gradients(layers);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(layers);
  return run;
}

/// Does the program train at every stage what it trains on one worker?
inline void expect_alike(const Program& program, const Program& on_one_worker) {
  const TrainingRun reference = train(alone(), on_one_worker, nullptr);
  for (const int stage : {0, 1, 2, 3}) {
    for (const int prefetch : {0, 1}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << ", " << prefetch << " ahead");
      const ZeroOptions options{
          .stage = stage, .bucket = 40, .segment = prefetch > 0 ? 40 : 11, .keep = 0, .prefetch = prefetch};
      EXPECT_TRUE(compare_runs(train(all_workers(), program, &options), reference));
    }
  }
}

inline void expect_alike(const Program& program) { expect_alike(program, program); }

}  // namespace riesz::testing
