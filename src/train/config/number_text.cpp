// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/number_text.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace riesz {

std::string duration(double seconds) {
  const long long s = std::llround(seconds);
  std::array<char, 64> text;
  if (s >= 3600) {
    std::snprintf(text.data(), text.size(), "%lld h %02lld min", s / 3600, s / 60 % 60);
  } else if (s >= 60) {
    std::snprintf(text.data(), text.size(), "%lld min %02lld s", s / 60, s % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lld s", s);
  }
  return text.data();
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > (number < 0 ? 1 : 0); i -= 3) {
    text.insert(static_cast<std::size_t>(i), ",");
  }
  return text;
}

}  // namespace riesz
