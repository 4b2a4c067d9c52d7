// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// A process as /proc shows it now. Private to src/comm.
struct ProcessState {
  char state = '-';        ///< '-': /proc says nothing of it
  int parent = -1;         ///< the number of the process that started it
  std::int64_t born = -1;  ///< in ticks

  bool gone() const { return state == '-' || state == 'Z'; }
  bool stopped() const { return state == 'T' || state == 't'; }
};

ProcessState process_state(int number);

/// A process identity: a process's number, with what tells it from a later process of the same number.
/// Private to src/comm.
struct ProcessIdentity {
  int number;
  std::int64_t namespace_of_numbers;
  std::int64_t born;  ///< as in its state
};

ProcessIdentity this_process();

/// True if `me` can see `process`: numbers mean the same processes to both, and /proc is that of these
/// numbers.
bool sees(const ProcessIdentity& me, const ProcessIdentity& process);

/// The state of a process that this one sees: "stopped" or "gone", else empty.
const char* state_of(const ProcessIdentity& process);

}  // namespace riesz
