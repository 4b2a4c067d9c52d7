// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/profile.h"

#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/trace/trace.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/train/report/clock_offsets.h"
#include "riesz/train/report/profile_table.h"
#include "riesz/train/report/trace_file.h"

namespace riesz {

Profile::Profile(const Config& config, const Partition& workers)
    : window_(profile_window(config)),
      path_(std::filesystem::path(config.output.folder) / "trace.json"),
      workers_(workers) {}

Profile::~Profile() {
  kernels_.reset();
  if (begun_ > 0 && Trace::under_way()) Trace::stop();
}

void Profile::before(std::int64_t step) {
  if (!window_ || begun_ > 0 || step < window_->first || step > window_->last) return;
  offsets_ = clock_offsets(workers_, clock_identity());
  finish_background();  // what earlier steps began is not of these
  Trace::start();
  kernels_.emplace();
  begun_ = step;
}

void Profile::after(std::int64_t step) {
  if (begun_ == 0) return;
  ended_ = step;
  if (step == window_->last) finish();
}

void Profile::finish() {
  if (begun_ == 0) return;
  const std::int64_t first = begun_;
  finish_background();
  kernels_.reset();
  const TraceLog log = Trace::stop();
  begun_ = 0;
  window_.reset();
  if (workers_.rank() == 0) make_folders(path_.parent_path());
  const std::string failed = write_trace(workers_, log, offsets_, path_);
  const std::string table = profile_table(workers_, log, ended_ - first + 1);
  report_ = concat("profile of steps ", first, " to ", ended_, ": ",
                   failed.empty() ? escaped(path_.string()) : "not written: " + failed, "\n", table);
}

}  // namespace riesz
