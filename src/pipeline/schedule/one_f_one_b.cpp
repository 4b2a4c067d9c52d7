// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/align.h"
#include "riesz/pipeline/schedule/in_turns.h"
#include "riesz/pipeline/schedule/makers.h"
#include "riesz/pipeline/schedule/options.h"

namespace riesz::schedules {
namespace {

/// One chunk a worker: worker r goes ahead(r) forward, and puts weights off for put_off(r) backward passes of
/// inputs.
template <typename Ahead, typename PutOff>
Schedule in_turns_on_each(const ScheduleOptions& options, Pass backward, const Ahead& ahead,
                          const PutOff& put_off) {
  Schedule table{looped(options.stages, 1), options.micro_batches, {}};
  for (int r = 0; r < options.stages; ++r) {
    table.rows.push_back(in_turns({.forward = each_micro_batch(Pass::forward, r, options.micro_batches),
                                   .backward = each_micro_batch(backward, r, options.micro_batches),
                                   .ahead = ahead(r),
                                   .put_off = put_off(r)}));
  }
  return aligned(table);
}

}  // namespace

Schedule one_f_one_b(const ScheduleOptions& options) {
  check_options("one_f_one_b", options, 1);
  const int p = options.stages;
  return in_turns_on_each(
      options, Pass::backward, [p](int r) { return p - r; }, [](int) { return 0; });
}

Schedule zb_h1(const ScheduleOptions& options) {
  check_options("zb_h1", options, 1);
  const int p = options.stages;
  return in_turns_on_each(
      options, Pass::backward_inputs, [p](int r) { return p - r; }, [](int r) { return r; });
}

Schedule zb_h2(const ScheduleOptions& options) {
  check_options("zb_h2", options, 1);
  const int p = options.stages;
  return in_turns_on_each(
      options, Pass::backward_inputs, [p](int r) { return 2 * (p - r) - 1; }, [](int r) { return 2 * r; });
}

}  // namespace riesz::schedules
