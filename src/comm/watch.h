// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace riesz {

/// For calls that wait for other workers by themselves, such as MPI's collective ones: where it lives past
/// the deadline, its thread ends the job with a report. Private to this room.
class Watch {
 public:
  explicit Watch(std::string call);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void run();

  std::string call_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace riesz
