// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of lanes against libm's in fp64, over floats of all sizes, with the special ones.
#include "riesz/nn/kernels/lane_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

namespace riesz::testing {
namespace {

using detail::kLanes;
using Lanes = detail::Lanes;

float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// In units in the last place of y, which is a float; 0 where both are the same special number.
double error_of(float found, double y) {
  const auto nearest = static_cast<float>(y);
  if (std::isnan(nearest) || std::isinf(nearest) || std::isnan(found) || std::isinf(found))
    return (std::isnan(found) && std::isnan(nearest)) || found == nearest ? 0 : 1e9;
  if (nearest == 0 && found == 0) return std::signbit(nearest) == std::signbit(found) ? 0 : 1e9;
  const float size = std::abs(nearest);
  const double unit = static_cast<double>(std::nextafter(size, INFINITY)) - size;
  return std::abs(found - y) / unit;
}

template <typename Function>
void expect_right(const char* name, const Function& function, double (*of_double)(double), double bound) {
  double worst = 0;
  float where = 0;
  const auto look = [&](std::uint32_t first, std::uint32_t step) {
    Lanes x, y;
    for (std::uint32_t i = 0; i < kLanes; ++i) x[i] = float_of(first + i * step);
    function(x, y);
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const double error = error_of(y[i], of_double(x[i]));
      if (error > worst) worst = error, where = x[i];
    }
  };
  constexpr std::uint32_t kStep = 4001;  // of all bits: a million numbers, of both signs
  for (std::uint64_t bits = 0; bits + kLanes * kStep < (std::uint64_t{1} << 32); bits += kLanes * kStep)
    look(static_cast<std::uint32_t>(bits), kStep);
  for (const std::uint32_t special : {0x00000000U, 0x007FFFF8U, 0x3F7FFFF8U, 0x42B0C0A0U, 0x7F7FFFF8U})
    for (const std::uint32_t sign : {0U, 0x80000000U}) look(special | sign, 1);
  EXPECT_LE(worst, bound) << name << " at " << where;
}

void expect_all_right() {
  expect_right(
      "exp", [](const Lanes& x, Lanes& y) { detail::exp_of(x, y); }, std::exp, 2);
  expect_right(
      "log", [](const Lanes& x, Lanes& y) { detail::log_of(x, y); }, std::log, 2);
  expect_right(
      "tanh", [](const Lanes& x, Lanes& y) { detail::tanh_of(x, y); }, std::tanh, 2);
  expect_right(
      "erf", [](const Lanes& x, Lanes& y) { detail::erf_of(x, y); }, std::erf, 2);
  expect_right(
      "sqrt", [](const Lanes& x, Lanes& y) { detail::sqrt_of(x, y); }, std::sqrt, 0.501);
}

TEST(LaneMath, IsRightToTwoUnitsAtAllFloats) { expect_all_right(); }

}  // namespace
}  // namespace riesz::testing
