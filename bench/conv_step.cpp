// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A convolution of 3 x 3, 64 to 64 channels, of 4 images of 256 x 256 in fp32, forward and backward. The
// height is sharded over all ranks. Beside it, in turns A B A B … in one job, each rank calls torch's on its
// own rows alone, with padding of its own, which needs no neighbour. Prints the ratio of the times (torch's /
// Riesz's: 1 means that halos are free), median and spread.
//   mpirun -n 2 conv_step [pairs] [size] [channels]        on one rank: Riesz beside torch's own layer
#include <ATen/Parallel.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/spatial/convolution.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

/// Seconds until the last rank is done.
double seconds(const std::function<void()>& f, const std::function<void()>& meet) {
  meet();
  const auto begin = std::chrono::steady_clock::now();
  f();
  meet();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int measure(int argc, char** argv) {
  at::set_num_threads(1);
  const int pairs = argc > 1 ? std::stoi(argv[1]) : 9;
  const std::int64_t size = argc > 2 ? std::stoll(argv[2]) : 256,
                     channels = argc > 3 ? std::stoll(argv[3]) : 64;
  const Partition mesh = Partition::world().grid({{"sp", Runtime::size()}});
  const Space X = Space(mesh, {4, channels, size, size}).sharded(2, "sp");
  const Space W(mesh, {channels, channels, 3, 3});
  const Convolution form("bchw,ocyx->bohw", X, W, X, {.padding = {.each = {1}}});
  const Vector x(X, at::randn(X.local_shape()).requires_grad_());
  const Vector w(W, at::randn(W.shape()).requires_grad_());
  const Vector ybar(dual(X), at::randn(X.local_shape()));
  const auto meet = [&] { wait_for_all(mesh); };
  const auto by_riesz = [&] {
    Chain chain;
    pullback(form(x, w), ybar, {x, w});
  };
  const auto by_torch = [&] {
    const at::Tensor a = x.local().detach().requires_grad_(), b = w.local().detach().requires_grad_();
    at::convolution(a, b, {}, {1, 1}, at::IntArrayRef{1, 1}, {1, 1}, false, at::IntArrayRef{0, 0}, 1)
        .backward(ybar.local());
  };
  std::vector<double> ratios, of_riesz;
  for (int i = -1; i < pairs; ++i) {
    const double riesz = seconds(by_riesz, meet), torch = seconds(by_torch, meet);
    if (i >= 0) ratios.push_back(torch / riesz), of_riesz.push_back(riesz);
  }
  std::sort(ratios.begin(), ratios.end()), std::sort(of_riesz.begin(), of_riesz.end());
  if (mesh.rank() == 0)
    std::printf("torch on its own rows / Riesz: median %.3f, from %.3f to %.3f, %d pairs; Riesz %.1f ms\n",
                ratios[ratios.size() / 2], ratios.front(), ratios.back(), pairs,
                1e3 * of_riesz[of_riesz.size() / 2]);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::measure); }
