// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>

namespace riesz {

/// Catches signals while it lives, so that training can end with its report. The first of each of SIGINT,
/// SIGTERM and SIGUSR1 (which launchers and batch systems send) does not end this process but is remembered.
/// Nor does a second of the same kind within `patience`: a double Ctrl-C does not lose the report. A later
/// second, or a third, ends the process. At most one lives at a time in a process. The thread that makes it
/// must be the one that computes, and must destroy it. The handler has a stack of its own (sigaltstack).
/// Kernels of oneDNN keep numbers where the stack pointer points, so a handler on the usual stack would
/// overwrite them (github.com/uxlfoundation/oneDNN/issues/4845).
class StopSignals {
 public:
  explicit StopSignals(std::chrono::milliseconds patience = std::chrono::seconds(2));
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Has one come?
  static bool came();

 private:
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGUSR1};
  std::array<struct sigaction, kSignals.size()> before_{};
  std::unique_ptr<std::byte[]> stack_;
  stack_t stack_before_{};
};

}  // namespace riesz
