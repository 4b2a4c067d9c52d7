// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "expect.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

double largest(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.detach().to(at::kDouble).abs().max().item<double>();
}

}  // namespace

::testing::AssertionResult is_close(const at::Tensor& a, const at::Tensor& b, double tolerance) {
  if (a.sizes() != b.sizes()) {
    return ::testing::AssertionFailure() << "shape " << a.sizes() << " where " << b.sizes() << " is expected";
  }
  const double difference = largest(a.detach().to(at::kDouble).sub(b.detach().to(at::kDouble)));
  if (difference <= tolerance * std::max(1.0, largest(b))) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "max|a - b| = " << difference << "\na is " << text_of(a) << "\nb is " << text_of(b);
}

::testing::AssertionResult is_within(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bound) {
  if (a.sizes() != b.sizes()) {
    return ::testing::AssertionFailure() << "shape " << a.sizes() << " where " << b.sizes() << " is expected";
  }
  const at::Tensor error = a.detach().to(at::kDouble).sub(b.detach().to(at::kDouble)).abs();
  if (error.le(bound.detach()).all().item<bool>()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "a is " << text_of(a) << "\nb is " << text_of(b) << "\n|a - b| is "
                                       << text_of(error) << "\nwhere it may be " << text_of(bound);
}

double unit_roundoff(at::ScalarType type) {
  switch (type) {
    case at::kBFloat16:
      return 0x1p-8;
    case at::kHalf:
      return 0x1p-11;
    case at::kFloat:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

::testing::AssertionResult means(const Vector& x, const at::Tensor& global, double tolerance) {
  const std::vector<at::Tensor> parts = all_parts(x.space().partition(), x.local());
  if (parts.empty()) return ::testing::AssertionSuccess();
  if (!belongs(x.space(), parts, true)) {
    return ::testing::AssertionFailure() << "replicas or copies differ in " << to_string(x.space());
  }
  return is_close(meant(x.space(), parts), global, tolerance) << "\nin " << to_string(x.space());
}

Vector leaf(const Space& X, const at::Tensor& global) {
  return {X, distribute(X, global).local().detach().clone().requires_grad_()};
}

Vector set(const Parameter& parameter, const at::Tensor& global) {
  const Vector value = parameter.value();
  value.local().detach().copy_(distribute(value.space(), global).local());
  return value;
}

at::Tensor draws(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  return random_part(Space(Partition::simulated(1), shape), 0, seed, true);
}

std::vector<Partition> meshes() {
  const Partition world = Partition::world();
  std::vector<Partition> grids;
  for (int dp = 1; dp <= world.size(); ++dp) {
    if (world.size() % dp == 0) grids.push_back(world.grid({{"dp", dp}, {"tp", world.size() / dp}}));
  }
  return grids;
}

Partition some_workers(RandomSpaces& random) {
  const Partition world = Partition::world();
  std::vector<int> ranks(static_cast<std::size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  for (int i = world.size(); i > 1; --i) {
    std::swap(ranks[static_cast<std::size_t>(i - 1)], ranks[static_cast<std::size_t>(random.any_of(i))]);
  }
  if (random.any_of(3) == 0) ranks.resize(static_cast<std::size_t>(1 + random.any_of(world.size())));
  return world.subset(ranks);
}

}  // namespace riesz::testing
