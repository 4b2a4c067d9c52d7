// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// One-pass updates beside their formulas in fp64: all types, odd and empty sizes, memory that is not aligned.
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/optim/adafactor_pass.h"
#include "riesz/optim/lamb_pass.h"
#include "riesz/optim/one_bit_pass.h"
#include "riesz/optim/sign_bits.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

/// The last is in two parts for threads.
const std::vector<std::int64_t> kSizes{0, 1, 7, 8, 9, 17, 100, 32768 + 21};

/// What a number of this type is right to, computed with some roundings, in fp32 at least.
double bound_of(at::ScalarType type) {
  return type == at::kDouble ? 1e-14 : type == at::kFloat ? 2e-6 : type == at::kHalf ? 2e-3 : 1.6e-2;
}

/// Calls f(type, n, make) for all types and sizes; `make` makes n random numbers, not aligned.
void for_all(const std::function<void(at::ScalarType, std::int64_t, const std::function<at::Tensor()>&)>& f) {
  if (Runtime::size() > 1) return;
  at::manual_seed(3);
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    for (const std::int64_t n : kSizes) {
      SCOPED_TRACE(std::string(at::toString(type)) + " of " + std::to_string(n));
      f(type, n, [type, n] { return at::randn({n + 1}, at::kDouble).to(type).narrow(0, 1, n); });
    }
  }
}

void expect_near(const at::Tensor& is, const at::Tensor& formula, const char* what) {
  if (is.numel() == 0) return;
  const double difference =
      is.to(at::kDouble).sub(formula).abs().div(formula.abs().add(1)).max().item<double>();
  EXPECT_LE(difference, bound_of(is.scalar_type())) << what;
}

void expect_near(double is, const at::Tensor& squares, at::ScalarType type) {
  const auto sum = squares.sum().item<double>();
  EXPECT_NEAR(is, sum, bound_of(type) * sum + 1e-300);
}

/// A copy.
at::Tensor wide(const at::Tensor& x) { return x.to(at::kDouble, false, true); }

/// Elements [begin, begin + n) of matrices of so many rows and columns, as lines.
std::vector<Line> lines_of(std::int64_t begin, std::int64_t n, const Matrices& shape) {
  std::vector<Line> all;
  for (std::int64_t at = 0; at < n;) {
    const std::int64_t row = (begin + at) / shape.columns, column = (begin + at) % shape.columns;
    const std::int64_t size = std::min(shape.columns - column, n - at);
    all.push_back({at, row, row / shape.rows * shape.columns + column, size});
    at += size;
  }
  return all;
}

TEST(Passes, OfAdafactorAreItsFormula) {
  for (const std::int64_t columns : {0, 1, 7, 16, 300}) {  // 0: V is kept
    for_all([&](at::ScalarType type, std::int64_t n, const auto& make) {
      const double epsilon = n % 2 == 0 ? 0.3 : 0;  // of some elements, or of none
      const at::Tensor w = make(), g = make();
      AdafactorElements of{w, g, {}, {}, {}, {}, epsilon};
      at::Tensor v = make().square().add(0.01);
      if (columns == 0) {
        of.variance = v;
      } else {
        const Matrices shape{3, n / (2 * columns) + 2, columns};
        of.lines = lines_of(columns / 2, n, shape);
        of.rows = at::randn({3 * shape.rows}).abs().add(0.1).to(type);
        of.columns = at::randn({3 * columns}).abs().add(0.1).to(type);
        const at::Tensor all = wide(of.rows).view({3, -1, 1}).mul(wide(of.columns).view({3, 1, -1}));
        v = all.view({-1}).narrow(0, columns / 2, n);
      }
      const at::Tensor u = wide(g).div(wide(v).clamp_min(epsilon * epsilon).sqrt());
      expect_near(adafactor_squares(of), u.square(), type);
      const at::Tensor formula = wide(w).mul(0.9).sub(u.mul(0.01));
      adafactor_apply(of, 0.9, 0.01);
      expect_near(w, formula, "w");
    });
  }
}

TEST(Passes, OfAdafactorAddSquaresOfRowsAndColumns) {
  for (const std::int64_t columns : {1, 7, 16, 300}) {
    for_all([&](at::ScalarType, std::int64_t n, const auto& make) {
      const Matrices shape{2, n / (2 * columns) + 2, columns};
      const std::vector<Line> lines = lines_of(columns / 2, n, shape);
      const at::Tensor g = make();
      const at::Tensor rows = at::zeros({2 * shape.rows}, at::kDouble),
                       sums = at::zeros({2 * columns}, at::kDouble);
      adafactor_add_squares(g, lines, rows.mutable_data_ptr<double>(), sums.mutable_data_ptr<double>());
      const at::Tensor all = at::zeros({2 * shape.rows * columns}, at::kDouble);
      all.narrow(0, columns / 2, n).copy_(wide(g).square());
      const at::Tensor by_row = all.view({2, shape.rows, columns});
      EXPECT_TRUE(rows.allclose(by_row.sum(2).view({-1}), 1e-13, 1e-13));
      EXPECT_TRUE(sums.allclose(by_row.sum(1).view({-1}), 1e-13, 1e-13));
    });
  }
}

TEST(Passes, OfLambAreItsFormula) {
  for_all([](at::ScalarType type, std::int64_t, const auto& make) {
    const at::Tensor w = make(), g = make(), m = make(), v = make().square();
    const LambElements of{w, m, v, 1.25, 1.5, 1e-2, 0.1};
    const at::Tensor w0 = wide(w), m0 = wide(m), v0 = wide(v);
    const LambSquares squares = lamb_moments(of, g, 0.8, 0.9);
    expect_near(m, m0.mul(0.8).add(wide(g), 0.2), "m");
    expect_near(v, v0.mul(0.9).add(wide(g).square(), 0.1), "v");
    const at::Tensor u = wide(m).mul(1.25).div(wide(v).sqrt().mul(1.5).add(1e-2)).add(w0, 0.1);
    expect_near(squares.value, w0.square(), type);
    expect_near(squares.direction, u.square(), type);
    lamb_apply(of, 0.01);
    expect_near(w, w0.sub(u.mul(0.01)), "w");
  });
}

TEST(Passes, OfOneBitAdamAreTheirFormulas) {
  for_all([](at::ScalarType type, std::int64_t n, const auto& make) {
    const at::Tensor m = make(), g = make(), e = make();
    const at::Tensor bytes = at::empty({(n + 7) / 8}, at::kByte);
    for (const bool of_two : {true, false}) {
      const at::Tensor sum = wide(m).mul(0.8).add(wide(e)).add(of_two ? wide(g).mul(0.4) : wide(g).mul(0));
      const double squares = one_bit_compress(m, 0.8, of_two ? g : at::Tensor(), 0.4, e, bytes);
      expect_near(e, sum, "m and e");
      expect_near(squares, wide(e).square(), type);
      if (type == at::kFloat || type == at::kDouble) {
        EXPECT_SAME_BITS(bytes, pack_signs(e.contiguous()));
      }
      const at::Tensor signs = at::where(e.ge(0), 1.0, -1.0).to(at::kDouble), before = wide(e);
      one_bit_lose(e, 0.75);
      expect_near(e, before.sub(signs, 0.75), "e");
      const at::Tensor x = make();
      one_bit_set(bytes, 0.75, x);
      EXPECT_SAME_BITS(x.contiguous(), signs.mul(0.75).to(type));
    }
  });
}

TEST(Passes, OfOneBitAdamLeaveAloneWhatHasNoVariance) {
  for_all([](at::ScalarType, std::int64_t n, const auto& make) {
    const at::Tensor w = make(), m = make(), v = make().square();
    for (std::int64_t i = 0; i < n; i += 3) v[i].zero_();
    const at::Tensor kept = wide(m).mul(v.gt(0));
    const at::Tensor formula = wide(w).mul(0.9).sub(kept.mul(0.01).div(wide(v).sqrt().mul(1.5).add(1e-2)));
    one_bit_apply(w, m, v, 0.9, 0.01, 1.5, 1e-2);
    expect_near(w, formula, "w");
    EXPECT_TRUE(wide(m).equal(kept));
  });
}

/// So replicas that lie at different places of their workers' shares stay equal.
TEST(Passes, GiveAnElementTheSameBitsAtEveryPlace) {
  for_all([](at::ScalarType, std::int64_t n, const auto& make) {
    if (n < 100) return;
    const at::Tensor w = make(), g = make(), v = make().square(), m = make();
    const auto adafactor = [&](std::int64_t from, std::int64_t to) {
      const auto part = [&](const at::Tensor& x) { return x.slice(0, from, to).clone(); };
      const AdafactorElements of{part(w), part(g), part(v), {}, {}, {}, 1e-3};
      adafactor_apply(of, 0.9, 0.01);
      return of.value;
    };
    const auto one_bit = [&](std::int64_t from, std::int64_t to) {
      const auto part = [&](const at::Tensor& x) { return x.slice(0, from, to).clone(); };
      const at::Tensor value = part(w);
      one_bit_apply(value, part(m), part(v), 0.9, 0.01, 1.5, 1e-2);
      return value;
    };
    for (const std::function<at::Tensor(std::int64_t, std::int64_t)>& update :
         {std::function<at::Tensor(std::int64_t, std::int64_t)>(adafactor), {one_bit}}) {
      const at::Tensor all = update(0, n);
      for (const std::int64_t begin : {1, 3, 17}) EXPECT_SAME_BITS(update(begin, n), all.slice(0, begin, n));
    }
  });
}

}  // namespace
}  // namespace riesz::testing
