// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A program in which the device of rank 1 has no memory for the buffers of an operator.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>

#include <optional>

#include "full_memory.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"

int main(int argc, char** argv) {
  return riesz::run_main(argc, argv, [](int, char**) {
    using riesz::Partition, riesz::Space, riesz::Vector;
    const at::NoGradGuard no_gradient;
    const Partition row = Partition::world().grid({{"a", riesz::Runtime::size()}});
    const Space X = Space(row, {5, 8}).sharded(1, "a");
    riesz::Linear layer("transformer.h.0.mlp", "bi,io->bo", X, Space(row, {8, 6}).sharded(0, "a"),
                        Space(row, {5, 6}));
    const at::Device device = riesz::testing::pretend_device();
    layer.initialise(3, at::kFloat, device);
    const Vector x(X, at::ones(X.local_shape(), at::device(device)));
    layer(x);
    std::optional<riesz::testing::FullMemory> full;
    if (riesz::Runtime::rank() == 1) full.emplace();
    layer(x);
    return 0;
  });
}
