// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/links.h"

#include "riesz/comm/error.h"

namespace riesz {

Links::Links(int chunks, const std::vector<std::pair<int, int>>& skips) : before_(chunks), after_(chunks) {
  const auto link = [&](int from, int to) {
    after_[from].push_back(to);
    before_[to].push_back(from);
  };
  for (int chunk = 1; chunk < chunks; ++chunk) link(chunk - 1, chunk);
  for (const auto& [from, to] : skips) {
    RIESZ_CHECK(0 <= from && from < to && to < chunks, "a skip from chunk ", from, " to chunk ", to,
                ": it must go forward, between two of the ", chunks, " chunks");
    if (to > from + 1) link(from, to);
  }
}

const std::vector<int>& Links::sources(const Action& action) const {
  if (action.pass == Pass::forward) return before_[action.chunk];
  return gives_gradient(action) ? after_[action.chunk] : none_;
}

const std::vector<int>& Links::users(const Action& action) const {
  if (action.pass == Pass::forward) return after_[action.chunk];
  return gives_gradient(action) ? before_[action.chunk] : none_;
}

}  // namespace riesz
