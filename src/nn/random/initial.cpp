// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/initial.h"

#include <ATen/ops/full.h>
#include <ATen/ops/special_ndtri.h>
#include <c10/util/ArrayRef.h>

#include <cmath>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/nn/random/random.h"

namespace riesz {
namespace {

/// The probability of a standard normal draw below z; precise where it is small.
double below(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

/// Where a truncated law is cut, in deviations from the mean; on the left if it can be, where `below` is
/// precise.
struct Cut {
  explicit Cut(const Initial& law)
      : turned(law.least > law.mean),
        sign(turned ? -1 : 1),
        low(below(sign * ((turned ? law.greatest : law.least) - law.mean) / law.deviation)),
        high(below(sign * ((turned ? law.least : law.greatest) - law.mean) / law.deviation)) {}
  bool turned;
  double sign;
  double low;   // probability below the cut
  double high;  // and up to its end
};

double positive_fan(double fan) {
  RIESZ_CHECK(fan > 0, "Initial: a fan of ", fan,
              "; it is the number of a weight's inputs, or outputs, and positive");
  return fan;
}

/// torch's gain for a leaky relu, over the root of the fan.
double kaiming(double fan, double slope) { return std::sqrt(2 / ((1 + slope * slope) * positive_fan(fan))); }

double xavier(const Fans& fans) {
  return std::sqrt(2 / positive_fan(static_cast<double>(fans.in) + static_cast<double>(fans.out)));
}

bool is_constant(const Initial& initial) {
  return initial.law == Initial::Law::normal && initial.deviation == 0;
}

/// Of standard normal draws, or of draws between 0 and 1; in place.
at::Tensor by_law(const Initial& initial, const at::Tensor& draws) {
  if (initial.law == Initial::Law::uniform) {
    draws.mul_(initial.greatest - initial.least).add_(initial.least);
    return draws.clamp_(initial.least, initial.greatest);  // rounding
  }
  if (initial.law == Initial::Law::truncated_normal) {
    const Cut cut(initial);
    const at::Tensor value = at::special_ndtri(draws.mul_(cut.high - cut.low).add_(cut.low));
    return value.mul_(cut.sign * initial.deviation)
        .add_(initial.mean)
        .clamp_(initial.least, initial.greatest);
  }
  return draws.mul_(initial.deviation).add_(initial.mean);
}

}  // namespace

Fans fans_of(const std::string& spec, const std::vector<std::int64_t>& shape) {
  const detail::Indices indices = detail::parse_indices(spec);
  RIESZ_CHECK(indices[1].size() == shape.size(), "fans_of: the weight of ", spec, " has ", indices[1].size(),
              " dims, unlike ", c10::IntArrayRef(shape));
  Fans fans{1, 1};
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const char index = indices[1][dim];
    if (indices[2].find(index) == std::string::npos) fans.in *= shape[dim];
    if (indices[0].find(index) == std::string::npos) fans.out *= shape[dim];
  }
  return fans;
}

Fans fans_of(const std::vector<std::int64_t>& shape) {
  RIESZ_CHECK(shape.size() >= 2, "fans_of: a weight of (out, in, ...) has two dims or more, unlike ",
              c10::IntArrayRef(shape), "; give the fan as a number");
  Fans fans{shape[1], shape[0]};
  for (std::size_t dim = 2; dim < shape.size(); ++dim) {
    fans.in *= shape[dim];
    fans.out *= shape[dim];
  }
  return fans;
}

Initial Initial::uniform(double a, double b) {
  RIESZ_CHECK(a <= b, "Initial::uniform between ", a, " and ", b, "; the first is the least");
  return {0, 0, Law::uniform, a, b};
}

Initial Initial::truncated_normal(double mean, double deviation, double a, double b) {
  RIESZ_CHECK(deviation > 0 && a < b, "Initial::truncated_normal of deviation ", deviation, " between ", a,
              " and ", b, "; the deviation is positive, and the first bound the least");
  const Initial law{mean, deviation, Law::truncated_normal, a, b};
  const Cut cut(law);
  RIESZ_CHECK(cut.high > cut.low, "Initial::truncated_normal of mean ", mean, " and deviation ", deviation,
              " has no part between ", a, " and ", b, " that fp64 can tell from nothing");
  return law;
}

Initial Initial::kaiming_uniform(double fan, double slope) {
  const double bound = std::sqrt(3.0) * kaiming(fan, slope);
  return uniform(-bound, bound);
}

Initial Initial::kaiming_normal(double fan, double slope) { return normal(kaiming(fan, slope)); }

Initial Initial::xavier_uniform(const Fans& fans, double gain) {
  const double bound = std::abs(gain) * std::sqrt(3.0) * xavier(fans);
  return uniform(-bound, bound);
}

Initial Initial::xavier_normal(const Fans& fans, double gain) {
  return normal(std::abs(gain) * xavier(fans));
}

at::Tensor initial_value(const Initial& initial, const Space& X, std::uint64_t key) {
  if (is_constant(initial)) return at::full(X.local_shape(), initial.mean, at::kDouble);
  const bool gaussian = initial.law == Initial::Law::normal;
  return by_law(initial, gaussian ? riesz::normal(X, key) : riesz::uniform(X, key));
}

at::Tensor initial_value(const Initial& initial, const Intervals& indices, std::uint64_t key) {
  if (is_constant(initial)) return at::full({total(indices)}, initial.mean, at::kDouble);
  const bool gaussian = initial.law == Initial::Law::normal;
  return by_law(initial, gaussian ? riesz::normal(indices, key) : riesz::uniform(indices, key));
}

}  // namespace riesz
