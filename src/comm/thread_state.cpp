// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/thread_state.h"

#include <utility>

namespace riesz {
namespace {

/// Made at its first use, which may be before this file's own static initialisation.
std::vector<std::function<OpenAgain()>>& captures() {
  static std::vector<std::function<OpenAgain()>> all;
  return all;
}

}  // namespace

bool carry_to_threads(std::function<OpenAgain()> capture) {
  captures().push_back(std::move(capture));
  return true;
}

std::vector<OpenAgain> captured_for_a_thread() {
  std::vector<OpenAgain> opened;
  for (const auto& capture : captures()) {
    if (OpenAgain open = capture()) opened.push_back(std::move(open));
  }
  return opened;
}

}  // namespace riesz
