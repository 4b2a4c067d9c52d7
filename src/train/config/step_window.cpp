// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/step_window.h"

#include <charconv>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/train/config/schema.h"

namespace riesz {
namespace {

/// A whole text; 0 if it is no such number.
std::int64_t step_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

}  // namespace

std::optional<StepWindow> profile_window(const Config& config) {
  const std::string_view text = config.train.profile;
  if (text.empty()) return std::nullopt;
  const std::size_t colon = text.find(':');
  StepWindow window{0, 0};
  if (colon != text.npos) window = {step_number(text.substr(0, colon)), step_number(text.substr(colon + 1))};
  RIESZ_CHECK(window.first >= 1 && window.last >= 1, value_and_origin(config, "train.profile"),
              " names no steps; write the first and the last, counted from 1, such as \"3:6\"");
  RIESZ_CHECK(window.first <= window.last, value_and_origin(config, "train.profile"),
              " ends before it begins; write \"", window.last, ":", window.first, "\"");
  RIESZ_CHECK(window.first <= config.train.steps, value_and_origin(config, "train.profile"),
              " begins after the last step: ", value_and_origin(config, "train.steps"),
              "; profile earlier steps, or train longer");
  return window;
}

}  // namespace riesz
