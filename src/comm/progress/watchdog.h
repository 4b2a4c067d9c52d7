// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace riesz {

/// A watchdog: a thread that guards a call in which no `Wait` sees the deadline, such as a collective of MPI.
/// If the watchdog has not been destroyed by the deadline, it ends the job and names the call. Time for which
/// this process was suspended counts as one second. It may begin before MPI starts. Private to src/comm.
class Watchdog {
 public:
  /// `more()` gives further text of the report; the watchdog's thread calls it.
  explicit Watchdog(std::string call, std::function<std::string()> more = {});
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run();

  const int rank_, size_;  // read at first, for the program may change the environment meanwhile
  std::string call_;
  std::function<std::string()> more_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace riesz
