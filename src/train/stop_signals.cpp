// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/stop_signals.h"

#include <cstddef>

namespace riesz {
namespace {

volatile std::sig_atomic_t signal_came = 0;

}  // namespace

StopSignals::StopSignals() {
  signal_came = 0;
  struct sigaction remember {};
  remember.sa_handler = [](int) { signal_came = 1; };
  remember.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    // What is ignored stays ignored, as SIGINT in a shell's background job.
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &remember, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

bool StopSignals::came() { return signal_came != 0; }

}  // namespace riesz
