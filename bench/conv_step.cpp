// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A convolution of 3 x 3, 64 to 64 channels, of 4 images of 256 x 256 in fp32, forward and backward. The
// height is sharded over all ranks. Three programs take turns, A B C A B C …, in one job: Riesz; torch's
// layer on each rank's own rows, padded there, so that it needs no neighbour; and torch's layer on the whole
// images on rank 0, while the others wait. Prints how many times as fast as these Riesz is, median and
// spread.
//   mpirun -n 2 --bind-to core conv_step [rounds] [size] [channels]
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

/// torch's layer, forward and backward.
struct TorchLayer {
  at::Tensor x, w, ybar;

  void operator()() const {
    const at::Tensor a = x.detach().requires_grad_(), b = w.detach().requires_grad_();
    at::convolution(a, b, {}, {1, 1}, at::IntArrayRef{1, 1}, {1, 1}, false, at::IntArrayRef{0, 0}, 1)
        .backward(ybar);
  }
};

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

void print_ratios(const char* beside, const std::vector<double>& others, const std::vector<double>& riesz) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < riesz.size(); ++i) ratios.push_back(others[i] / riesz[i]);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const double of_least =
      *std::min_element(others.begin(), others.end()) / *std::min_element(riesz.begin(), riesz.end());
  std::printf("%s: %.1f ms; Riesz is %.3f times as fast (%.3f to %.3f), by the least times %.3f\n", beside,
              1e3 * median(others), median(ratios), *least, *most, of_least);
}

int measure(int argc, char** argv) {
  at::set_num_threads(1);
  const int rounds = argc > 1 ? std::stoi(argv[1]) : 9;
  const std::int64_t size = argc > 2 ? std::stoll(argv[2]) : 256,
                     channels = argc > 3 ? std::stoll(argv[3]) : 64;
  const Partition mesh = Partition::world().grid({{"sp", Runtime::size()}});
  const Space X = Space(mesh, {4, channels, size, size}).sharded(2, "sp");
  const Space W(mesh, {channels, channels, 3, 3});
  const Convolution form("bchw,ocrs->bohw", X, W, X, {.padding = {.each = {1}}});
  const Vector x(X, at::randn(X.local_shape()).requires_grad_());
  const Vector w(W, at::randn(W.shape()).requires_grad_());
  const Vector ybar(dual(X), at::randn(X.local_shape()));
  const auto by_riesz = [&] {
    const Chain chain;
    pullback(form(x, w), ybar, {x, w});
  };
  const TorchLayer own{x.local(), w.local(), ybar.local()};
  TorchLayer whole = own;
  if (mesh.rank() == 0) whole = {at::randn(X.shape()), w.local(), at::randn(X.shape())};
  const auto on_one = [&] {
    if (mesh.rank() == 0) whole();
  };
  const auto meet = [&] { wait_for_all(mesh); };
  std::vector<double> riesz, rows, alone;
  for (int i = -1; i < rounds; ++i) {
    const double a = seconds(by_riesz, meet), b = seconds(own, meet), c = seconds(on_one, meet);
    if (i >= 0) riesz.push_back(a), rows.push_back(b), alone.push_back(c);
  }
  if (mesh.rank() != 0) return 0;
  std::printf("Riesz: %.1f ms, %d rounds\ncalls/s %.4f\n", 1e3 * median(riesz), rounds, 1 / median(riesz));
  print_ratios("torch on each rank's own rows", rows, riesz);
  print_ratios("torch on one rank, whole images", alone, riesz);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::measure); }
