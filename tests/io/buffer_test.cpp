// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <vector>

#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/optim/untrained.h"
#include "riesz/testing/error.h"
#include "shared_folder.h"

namespace riesz::testing {
namespace {

/// A count that is no number of the model's type, and has no dims.
TEST(Checkpoint, KeepsABufferOfATypeOfItsOwn) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  const auto buffer = [&](std::int64_t count) {
    std::vector<Parameter> all{
        {"bn.num_batches_tracked", Space(world, {}), {.trained = false, .type = at::kLong}}};
    all[0].initialise(1, at::kBFloat16);
    all[0].set(at::full({}, count, at::kLong));
    return all;
  };
  const std::vector<Parameter> saved = buffer(1001), read = buffer(0);
  save_checkpoint(folder.path() / "x", world, {untrained_state(saved), published_shapes(saved), {}});
  const StoredTensors files(folder.path() / "x");
  const StoredTensor* stored = files.find("bn.num_batches_tracked");
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->type, at::kLong);
  EXPECT_TRUE(stored->shape.empty());
  load_checkpoint(folder.path() / "x", world, untrained_state(read), published_shapes(read));
  EXPECT_EQ(read[0].get().local().item<std::int64_t>(), 1001);
  EXPECT_ERROR(Parameter("count", Space(world, {}), {.type = at::kLong}), "a type of its own is for buffers");
}

}  // namespace
}  // namespace riesz::testing
