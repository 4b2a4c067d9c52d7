// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <csignal>

namespace riesz {

/// Ignores SIGXFSZ and SIGPIPE while it lives, so that a write that cannot succeed is an error and does not
/// end the process. SIGXFSZ comes from a file beyond the size limit (`ulimit -f`), SIGPIPE from a pipe that
/// nobody reads any more (such as standard output with `| head`).
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
