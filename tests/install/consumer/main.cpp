// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <riesz/riesz.h>

#include <cstdio>

// Every worker holds the term rank + 1 of a sum; everyone learns the sum.
int sum(int /*argc*/, char** /*argv*/) {
  const at::NoGradGuard no_gradient;
  const auto world = riesz::Partition::world();
  const auto terms = riesz::Space(world, {3}).partial("world");
  const auto copies = riesz::Space(world, {3}).copied("world");
  const riesz::Vector x(terms, at::full({3}, world.rank() + 1.0));
  const riesz::Vector y = riesz::between(terms, copies)(x);
  if (world.rank() == 0) std::printf("the sum is %g\n", y.local()[0].item<double>());
  return 0;
}

int main(int argc, char** argv) { return riesz::run_main(argc, argv, sum); }
