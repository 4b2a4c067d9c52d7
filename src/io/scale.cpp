// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace riesz {
namespace {

constexpr double kLogarithmicFrom = 50;

/// 1, 2 or 5 times a power of ten, so that `span` has about `count` of them.
double round_step(double span, int count) {
  const double raw = span / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (1.4 * factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

}  // namespace

Scale::Scale(const std::vector<double>& values, Fit fit) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double v) { return std::isfinite(v); });
  if (finite.empty()) return;
  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  logarithmic_ = fit == Fit::wide && *low > 0 && *high / *low >= kLogarithmicFrom;
  low_ = *low;
  high_ = *high;
  if (low_ == high_) {
    low_ -= 0.5;
    high_ += 0.5;
  }
  if (logarithmic_ || fit == Fit::exact) return;
  const double step = round_step(high_ - low_, 5);
  low_ = step * std::floor(low_ / step);
  high_ = step * std::ceil(high_ / step);
}

double Scale::place(double value) const {
  if (logarithmic_) return std::log(value / low_) / std::log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

std::vector<double> Scale::ticks(int count) const {
  std::vector<double> found;
  if (logarithmic_) {
    for (double tick = std::pow(10, std::ceil(std::log10(low_))); tick <= high_; tick *= 10)
      found.push_back(tick);
    return found;
  }
  const double step = round_step(high_ - low_, count);
  for (double i = std::ceil(low_ / step - 1e-9); i <= high_ / step + 1e-9; ++i)
    found.push_back(i * step + 0.0);
  return found;
}

std::string tick_text(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

}  // namespace riesz
