// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/options.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

constexpr std::int64_t kMost = std::int64_t{1}
                               << 22;  // cells of a table, so that a slip does not fill the memory

}  // namespace

void check_options(const char* name, const ScheduleOptions& options, int chunks,
                   const std::set<std::string>& takes) {
  const int p = options.stages, m = options.micro_batches, v = options.chunks;
  RIESZ_CHECK(p > 0 && m > 0 && v >= 0, name, ": ", p, " stages, ", m, " micro-batches, ", v,
              " chunks; it needs a stage and a micro-batch at least");
  RIESZ_CHECK(v == 0 || chunks == 0 || v == chunks, name, ": ", v, " chunks a worker; it has ", chunks,
              chunks == 1 ? ". Several have interleaved (any number), and zb_v, v_half and v_min (2)"
                          : ". Any number has interleaved");
  RIESZ_CHECK(p <= kMost && m <= kMost && v <= kMost && std::int64_t{p} * m <= kMost &&
                  std::int64_t{p} * m * std::max(v, 1) <= kMost,
              name, ": ", p, " stages x ", m, " micro-batches x ", std::max(v, 1),
              " chunks; a table has at most ", kMost, " forward passes");
  const std::vector<std::pair<const char*, int>> given = {{"group", options.group},
                                                          {"update_interval", options.update_interval},
                                                          {"in_flight", options.in_flight},
                                                          {"recompute", options.recompute ? 1 : 0}};
  for (const auto& [option, value] : given) {
    RIESZ_CHECK(value >= 0, name, ": ", option, " = ", value, "; it must be above 0");
    RIESZ_CHECK(value == 0 || takes.contains(option), name, ": it has no ", option, ", which is given as ",
                value, "; leave that out");
  }
}

}  // namespace riesz
