// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "yields.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace riesz {
namespace {

thread_local int yields = 0;

}  // namespace

int yields_here() { return yields; }

}  // namespace riesz

/// In place of the system's library's, which std::this_thread::yield calls.
extern "C" int sched_yield() noexcept {
  ++riesz::yields;
  return static_cast<int>(::syscall(SYS_sched_yield));
}
