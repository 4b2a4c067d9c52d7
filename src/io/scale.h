// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace riesz {

/// The fit of a scale to values. Exact goes from the least to the greatest. Round goes between round numbers.
/// Wide is logarithmic if all are positive and span a factor of 50 or more, else as round.
enum class Fit { exact, round, wide };

/// The scale of one axis of a picture.
class Scale {
 public:
  /// For these values; ones that are not finite are ignored.
  Scale(const std::vector<double>& values, Fit fit);

  bool logarithmic() const { return logarithmic_; }
  /// 0 at the low end, 1 at the high end.
  double place(double value) const;
  /// Round numbers inside the scale, ascending: about `count` of them, or powers of ten.
  std::vector<double> ticks(int count) const;

 private:
  double low_ = 0;
  double high_ = 1;
  bool logarithmic_ = false;
};

/// A tick's number in few characters.
std::string tick_text(double value);

}  // namespace riesz
