// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>

#include "riesz/comm/kernels/list.h"
#include "riesz/comm/kernels/mark.h"
#include "riesz/comm/kernels/stored.h"
#include "riesz/nn/kernels/lane_math.h"

// The kernels of rows of exp_rows.h, for a CPU's threads and for a device's blocks of threads.
namespace riesz::detail {

/// The greatest of no numbers.
inline constexpr float kLeastNumber = -std::numeric_limits<float>::infinity();

/// exp(x) of one number.
template <typename Team>
RIESZ_ROW float exp_of_one(float x) {
  typename Team::Numbers all = {}, y;
  all += x;
  exp_of(all, y);
  return Team::first(y);
}

struct SumsSoFar {
  float greatest = kLeastNumber;
  double sum = 0, shifted = 0;
};

/// Adds the elements from `begin` to `end`, which fit the processor's nearest memory: they are read twice.
template <typename Team, typename Number>
RIESZ_ROW void add_block(const Number* x, std::int64_t begin, std::int64_t end, SumsSoFar& all) {
  using Numbers = typename Team::Numbers;
  const std::int64_t terms = 8 * Team::width();
  Numbers most = {};
  most += kLeastNumber;
  Team::each(begin, end, [&](auto part) RIESZ_PART {
    Numbers a;
    part.load(x, a, kLeastNumber);
    most = a > most ? a : most;
  });
  const float greatest = Team::greatest(most);
  if (greatest > all.greatest) {
    if (begin > 0) {
      all.sum *= exp_of_one<Team>(all.greatest - greatest);
      all.shifted += static_cast<double>(begin) * (all.greatest - greatest);
    }
    all.greatest = greatest;
  }
  const float g = all.greatest == kLeastNumber ? 0 : all.greatest;
  for (std::int64_t at = begin; at < end; at += terms) {
    Numbers of_exp = {}, of_x = {};
    Team::each(at, at + terms < end ? at + terms : end, [&](auto part) RIESZ_PART {
      Numbers a, e;
      part.load(x, a, kLeastNumber);
      a -= g;
      exp_of(a, e);
      of_exp += e;
      part.load(x, a, g);
      of_x += a - g;
    });
    all.sum += Team::sum(of_exp), all.shifted += Team::sum(of_x);
  }
}

template <typename Number>
struct SumsOfRow {
  const Number* x;
  std::int64_t n;
  float *greatest, *sum, *shifted;

  template <typename Team>
  RIESZ_ROW void operator()(const Team& /*team*/, std::int64_t row) const {
    const std::int64_t block = Team::near_elements();
    SumsSoFar all;
    for (std::int64_t at = 0; at < n; at += block)
      add_block<Team>(x + row * n, at, at + block < n ? at + block : n, all);
    greatest[row] = all.greatest;
    sum[row] = static_cast<float>(all.sum), shifted[row] = static_cast<float>(all.shifted);
  }
};

/// y may be x.
template <typename Number>
struct GradientOfRow {
  const Number* x;
  std::int64_t n;
  const float *g, *of_exp, *of_each, *of_target;
  const std::int64_t* target;
  Number* y;

  template <typename Team>
  RIESZ_ROW void operator()(const Team& /*team*/, std::int64_t row) const {
    using Numbers = typename Team::Numbers;
    const float greatest = g[row], a = of_exp[row], b = of_each[row], c = of_target[row];
    const auto gradient = [&](auto part, float more, Numbers& e) RIESZ_PART {
      Numbers of_x;
      part.load(x + row * n, of_x, greatest);
      of_x -= greatest;
      exp_of(of_x, e);
      e = e * a + (b + more);
    };
    const std::int64_t column = target[row];
    const auto one = Team::one(column);
    Numbers at_target = {};
    if (column >= 0) gradient(one, c, at_target);
    Team::wait();  // y may be x
    Team::each(0, n, [&](auto part) RIESZ_PART {
      Numbers e;
      gradient(part, 0, e);
      part.store(e, y + row * n);
    });
    Team::wait();
    if (column >= 0) one.store(at_target, y + row * n);
  }
};

template <typename Number>
using ExpKernelsOf = kernels::KernelList<SumsOfRow<Number>, GradientOfRow<Number>>;

}  // namespace riesz::detail
