// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The program of the README, which is this file from its first #include on; a test compares and runs it.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <riesz/riesz.h>

#include <cstdio>

using namespace riesz;

int train(int, char**) {
  Partition mesh = Partition::world().grid({{"tp", Runtime::size()}});
  Space X(mesh, {8, 64});                            // Replicated: the same on every worker
  Space H = Space(mesh, {8, 257}).sharded(1, "tp");  // each worker has its columns, evenly or not
  Linear up("up", "bi,io->bo", X, H), down("down", "bi,io->bo", H, X);
  up.initialise(1, at::kDouble);  // by seed and name: the same on any number of workers
  down.initialise(1, at::kDouble);
  Chain chain;  // records the calls below, for backward
  Vector logits = down(gelu(up(distribute(X, at::ones({8, 64}, at::kDouble)))));
  Vector loss = cross_entropy(logits, distribute(Space(mesh, {8}), at::zeros({8}, at::kLong))).mean();
  backward(loss);  // each communication goes back as its adjoint
  if (mesh.rank() == 0) std::printf("loss %.12f\n", loss.local().item<double>());
  return 0;
}

int main(int argc, char** argv) { return run_main(argc, argv, train); }
