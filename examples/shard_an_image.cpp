// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A convolution of images whose height, width or channels are sharded: who holds what, which halos
// move, the steps of a Fourier transform, and one loss at each sharding.
//   build/release/mpirun -n 4 build/release/examples/shard_an_image
#include <ATen/ops/arange.h>
#include <riesz/riesz.h>

#include <cstdio>
#include <string>

using namespace riesz;

namespace {

constexpr char kSpec[] = "bchw,ocrs->bohw";

/// The loss of a small network, with its images and channels where `place` lays them.
template <typename Place>
double loss_of(const Partition& mesh, const Place& place) {
  const Space images = place(Space(mesh, {2, 4, 10, 9})), features = place(Space(mesh, {2, 6, 10, 9}));
  const Space pooled = place(Space(mesh, {2, 6, 5, 4}));
  Conv conv("conv", kSpec, images, features, {3}, {.windows = {.padding = {.each = {1}}}});
  BatchNorm norm("norm", features);
  MaxPool pool("pool", features, pooled, {.kernel = {2}});
  conv.initialise(1, at::kDouble);
  norm.initialise(1, at::kDouble);
  const ContextScope scope({.training = true});
  Chain chain;
  const Vector x = distribute(images, at::arange(720, at::kDouble).sin().view({2, 4, 10, 9}));
  const Vector loss = mean(square(pool(relu(norm(conv(x))))), {}, {.all_reduce = true});
  backward(loss);
  return loss.local().item<double>();
}

int show(int, char**) {
  const Partition mesh = Partition::world().grid({{"h", 2}, {"w", 2}});
  const Space X = Space(mesh, {2, 4, 10, 9}).sharded(2, "h").sharded(3, "w");
  const Space W(mesh, {6, 4, 3, 3});
  const Convolution convolution(kSpec, X, W, X.with_shape({2, 6, 10, 9}), {.padding = {.each = {1}}});
  const bool is_first = mesh.rank() == 0;
  for (int rank = 0; is_first && rank < mesh.size(); ++rank) {
    const Box own = X.box(rank);
    const Boxes need = convolution.read(0).range().boxes(rank);
    std::printf("worker %d holds rows %s and columns %s, reads rows %s and columns %s, sends %ld elements\n",
                rank, to_string(own[2]).c_str(), to_string(own[3]).c_str(), to_string(need[2][0]).c_str(),
                to_string(need[3][0]).c_str(), static_cast<long>(convolution.forward_traffic(rank).elements));
  }
  if (is_first) std::printf("%s\n", to_string(convolution.read(0)).c_str());
  const Operator transform = rfft(X, {2, 3});
  for (const Step& step : transform.steps())
    if (is_first) std::printf("%s\n", to_string(*step).c_str());
  if (is_first)
    std::printf("worker 0 sends %ld elements\n", static_cast<long>(transform.traffic(0).elements));
  const double by_space = loss_of(mesh, [](const Space& S) { return S.sharded(2, "h").sharded(3, "w"); });
  const double by_channels = loss_of(mesh, [](const Space& S) { return S.sharded(1, "h").sharded(0, "w"); });
  if (is_first) std::printf("by height and width: loss %.12f\n", by_space);
  if (is_first) std::printf("by channels and batch: loss %.12f\n", by_channels);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, show); }
