// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/consistency_checks.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

bool asked_for() {
  const char* text = std::getenv("RIESZ_CHECK");
  const std::string_view value = text == nullptr ? "0" : text;
  RIESZ_CHECK(value == "0" || value == "1", "RIESZ_CHECK is \"", value, "\"; it must be 0 or 1");
  return value == "1";
}

std::atomic<bool>& switched_on() {
  static std::atomic<bool> on(asked_for());
  return on;
}

std::atomic<bool> waited_for = true;

}  // namespace

bool consistency_checks() { return switched_on(); }
void set_consistency_checks(bool on) {
  switched_on() = on;
  waited_for = true;
}

bool checks_are_waited_for() { return waited_for; }
void wait_for_checks_no_more() { waited_for = false; }

}  // namespace riesz
