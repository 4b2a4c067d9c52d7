// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A halo exchange in fp32: images of 128 rows on each rank, sharded by rows, get a row from above and from
// below; backward adds the gradients of these rows to their owners'. Prints "calls/s N" of forward and
// backward, of the slowest rank, for bench/paired.py; bench/peers/spatial_mpi4py.py does the same.
//   mpirun -n 2 --bind-to core halo_call [KiB on each rank]
#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/partition/window.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

constexpr std::int64_t kRows = 128;
constexpr int kCalls = 500, kTimes = 9;

Operator halo_of_one(const Space& X) {
  const std::int64_t n = X.shape()[2];
  std::vector<Intervals> needs;
  for (std::int64_t at = 0; at < n; at += kRows)
    needs.push_back({{std::max<std::int64_t>(0, at - 1), std::min(n, at + kRows + 1)}});
  return between(X, covering(X, 2, needs));
}

int measure(int argc, char** argv) {
  at::set_num_threads(1);
  const std::int64_t kib = argc > 1 ? std::stoll(argv[1]) : 64;
  const Partition mesh = Partition::world().grid({{"height", Runtime::size()}});
  const Space X = Space(mesh, {1, 1, kRows * Runtime::size(), 2 * kib}).sharded(2, "height");
  const Operator A = halo_of_one(X);
  const Vector x(X, at::randn(X.local_shape()).requires_grad_());
  const Vector ybar(dual(A.range()), at::randn(A.range().local_shape()));
  std::vector<double> seconds;
  for (int i = -1; i < kTimes; ++i) {
    wait_for_all(mesh);
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) {
      const Chain chain;
      pullback(A(x), ybar, {x});
    }
    wait_for_all(mesh);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (i >= 0) seconds.push_back(taken.count() / kCalls);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kTimes / 2, seconds.end());
  if (mesh.rank() == 0) std::printf("calls/s %.1f\n", 1 / seconds[kTimes / 2]);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::measure); }
