// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <csignal>

namespace riesz {

/// As long as it lives, SIGINT, SIGTERM and SIGUSR1 (which launchers and batch systems forward) do not end
/// this process but are remembered: the first of each; a second of the same ends it. One of this at a time in
/// a process.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Has one come?
  static bool came();

 private:
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGUSR1};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace riesz
