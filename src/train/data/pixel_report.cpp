// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/pixel_report.h"

#include <cstdio>

#include "riesz/comm/error.h"

namespace riesz {

std::vector<std::string> overlap_lines(const HeldOut& held_out, const std::vector<std::string>& names) {
  const auto text = [](double overlap) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.4f", overlap);
    return std::string(digits);
  };
  std::vector<std::string> lines{"held-out intersection over union, mean of labels: " +
                                 text(held_out.overlap().value_or(0))};
  for (std::size_t label = 0; label < held_out.overlaps.size(); ++label)
    lines.push_back(concat("  ", names[label], "  ", text(held_out.overlaps[label])));
  return lines;
}

}  // namespace riesz
