// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "riesz/app/memory/memory_estimate.h"

namespace riesz::app {

std::string bytes_text(double bytes) {
  static constexpr std::array<const char*, 7> kUnits{"MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  double number = bytes / (1 << 20);
  std::size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), number < 1e6 ? "%.2f %s" : "%.3g %s", number, kUnits[unit]);
  return text.data();
}

double MemoryEstimate::all() const {
  return parameters + gradients + optimizer + passing() + activations + under_way + logits + checkpoint +
         data;
}

std::vector<std::pair<std::string, double>> categories(const MemoryEstimate& e) {
  return {{"parameters", e.parameters},         {"gradients", e.gradients},
          {"optimizer", e.optimizer},           {"gathered values", e.gathered},
          {"sums of gradients", e.sums},        {"activations", e.activations},
          {"of others under way", e.under_way}, {"logits", e.logits},
          {"checkpoint's copy", e.checkpoint},  {"data", e.data}};
}

std::string to_string(const MemoryEstimate& e) {
  std::string text;
  const auto row = [&](const std::string& name, double bytes) {
    std::array<char, 96> line;
    std::snprintf(line.data(), line.size(), "  %-20s %16s\n", name.c_str(), bytes_text(bytes).c_str());
    text += line.data();
  };
  for (const auto& [name, bytes] : categories(e)) row(name, bytes);
  row("in all", e.all());
  if (e.elsewhere > 0) row("elsewhere, besides", e.elsewhere);
  if (e.elsewhere > 0) row("moved in a step", 2 * e.elsewhere);
  if (e.activations_on_disk > 0) row("activations, besides", e.activations_on_disk);
  if (e.at_worst > 0) row("at worst, besides", e.at_worst);
  return text;
}

}  // namespace riesz::app
