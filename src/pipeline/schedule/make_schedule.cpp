// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/make_schedule.h"

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {

const std::vector<NamedSchedule>& named_schedules() {
  static const std::vector<NamedSchedule> all = {
      {"gpipe", "all forward passes, then all backward passes", schedules::gpipe},
      {"one_f_one_b", "one forward, one backward in turn (PipeDream-flush): less memory",
       schedules::one_f_one_b},
      {"interleaved", "1F1B with several chunks a worker (Megatron): less idle, more messages",
       schedules::interleaved},
      {"varuna", "all but the last worker recompute, before the gradient is used", schedules::varuna},
      {"zb_h1", "weights' gradients fill idle time; memory of 1F1B's first worker", schedules::zb_h1},
      {"zb_h2", "the same with twice the memory, without idle time", schedules::zb_h2},
      {"zb_v", "two chunks a worker in a V, without idle time, with 1F1B's memory", schedules::zb_v},
      {"v_half", "two chunks in a V, half of 1F1B's memory and idle time", schedules::v_half},
      {"v_min", "two chunks in a V, a third of 1F1B's memory", schedules::v_min},
      {"pipedream", "asynchronous: an update after each micro-batch, stashed weights", schedules::pipedream},
      {"two_bw", "asynchronous: an update after several micro-batches, two versions of weights",
       schedules::two_bw},
      {"ampnet", "asynchronous: whatever can go goes, with the newest weights", schedules::ampnet},
  };
  return all;
}

Schedule make_schedule(const std::string& name, const ScheduleOptions& options) {
  std::string names;
  for (const NamedSchedule& schedule : named_schedules()) {
    if (schedule.name == name) return schedule.make(options);
    names += (names.empty() ? "" : ", ") + schedule.name;
  }
  throw_error(concat("there is no schedule ", in_quotes(name), "; there are ", names));
}

}  // namespace riesz
