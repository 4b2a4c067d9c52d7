// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace riesz {

/// Guards a call that itself waits for other workers, such as a collective one of MPI: if it still lives when
/// the deadline has passed, a thread of its own ends the job and names the call. Of a time in which this
/// process was stopped, a second counts. It may begin before MPI does. Private to this room.
class Watch {
 public:
  /// `more()`, asked by that thread, is what the report says besides.
  explicit Watch(std::string call, std::function<std::string()> more = {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void run();

  std::string call_;
  std::function<std::string()> more_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace riesz
