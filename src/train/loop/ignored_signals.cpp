// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/ignored_signals.h"

#include <cstddef>

namespace riesz {

IgnoredSignals::IgnoredSignals() {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
}

IgnoredSignals::~IgnoredSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

}  // namespace riesz
