// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/relative_error.h"

#include <numeric>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"

namespace riesz {
namespace {

constexpr double kLeast = 1e-20;  // beside the square of an error, whose root then has a slope at 0

Vector in_fp32_at_least(const Vector& x) {
  const at::ScalarType type = x.local().scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? cast(x, at::kFloat) : x;
}

/// The sum of each row's squares.
Vector squares_of_rows(const Vector& x) {
  std::vector<int> dims(static_cast<std::size_t>(x.space().dims() - 1));
  std::iota(dims.begin(), dims.end(), 1);
  return sum(square(x), dims, {.all_reduce = true});
}

}  // namespace

Loss relative_error(const Vector& x, const Vector& y) {
  RIESZ_CHECK(x.space() == y.space(), "relative_error needs x and y in one space, not\n  ",
              to_string(x.space()), "\n  ", to_string(y.space()), "\n",
              conversion_hint(x.space(), y.space()));
  const Vector wanted = in_fp32_at_least(y), far = in_fp32_at_least(x) - wanted;
  const Vector shares = squares_of_rows(far) / squares_of_rows(wanted);
  const Vector each =
      map("root of a share", shares, [](const at::Tensor& t) { return t.add(kLeast).sqrt(); });
  return {sum(each, {}, {.all_reduce = true}), x.space().shape().front()};
}

}  // namespace riesz
