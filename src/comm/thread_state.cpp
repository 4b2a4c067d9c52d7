// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/thread_state.h"

#include <utility>

namespace riesz {
namespace {

/// Made at its first use, which may be before this file's own static initialisation.
std::vector<std::function<ReopenOnThread()>>& captures() {
  static std::vector<std::function<ReopenOnThread()>> all;
  return all;
}

}  // namespace

bool carry_to_threads(std::function<ReopenOnThread()> capture) {
  captures().push_back(std::move(capture));
  return true;
}

std::vector<ReopenOnThread> captured_for_thread() {
  std::vector<ReopenOnThread> opened;
  for (const auto& capture : captures()) {
    if (ReopenOnThread open = capture()) opened.push_back(std::move(open));
  }
  return opened;
}

}  // namespace riesz
