// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// While one lives, `poke` calls `call`. MPI moves bytes only inside its own calls. That includes bytes of a
/// message that it has reported as sent: a worker that then waits for shared memory alone would keep them for
/// ever. So a transport between hosts makes one. Private to src/comm.
class Poke {
 public:
  explicit Poke(void (*call)());
  ~Poke();
  Poke(const Poke&) = delete;
  Poke& operator=(const Poke&) = delete;
};

/// Lets MPI make progress, if a `Poke` lives. Every wait that lasts calls it about ten times a millisecond,
/// and so does the background thread while it is awake, which it is for some milliseconds after its last task.
void poke();

}  // namespace riesz
