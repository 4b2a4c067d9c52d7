// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <csignal>

namespace riesz {

/// As long as it lives, a write that cannot succeed is an error of that write, and does not end the process:
/// of a file beyond the limit of sizes (SIGXFSZ, `ulimit -f`), and into a pipe that nobody reads any more
/// (SIGPIPE, such as of standard output with `| head`).
class IgnoredSignals {
 public:
  IgnoredSignals();
  ~IgnoredSignals();
  IgnoredSignals(const IgnoredSignals&) = delete;
  IgnoredSignals& operator=(const IgnoredSignals&) = delete;

 private:
  static constexpr std::array<int, 2> kSignals{SIGXFSZ, SIGPIPE};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace riesz
