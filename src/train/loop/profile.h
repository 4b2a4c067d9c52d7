// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/trace/kernels.h"
#include "riesz/partition/partition.h"
#include "riesz/train/config/config.h"
#include "riesz/train/config/step_window.h"

namespace riesz {

/// The profile of a training: traces the steps of train.profile, and writes trace.json into output.folder
/// when the last of them has ended. Without the key all calls return immediately.
class Profile {
 public:
  /// `workers` outlives it.
  Profile(const Config& config, const Partition& workers);
  /// Ends a trace that is under way, and writes nothing: an exception is leaving the training.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Called before and after each step, counted from 1. Collective over the workers where a window begins or
  /// ends.
  void before(std::int64_t step);
  void after(std::int64_t step);
  /// Called when training has ended, for that may be inside the window. Collective likewise.
  void finish();

  /// For the report: where the file is, and `profile_table`. On rank 0; empty without a profile.
  const std::string& report() const { return report_; }

 private:
  std::optional<StepWindow> window_;
  std::filesystem::path path_;
  const Partition& workers_;
  std::vector<std::int64_t> offsets_;
  std::optional<KernelRanges> kernels_;  // of the trace under way
  std::int64_t begun_ = 0;               // the first step of the trace under way; 0: none
  std::int64_t ended_ = 0;               // the last step that ended in it
  std::string report_;
};

}  // namespace riesz
