// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace riesz::testing {

/// What goes between the host and the pretend device while it lives, in all threads of this process.
class HostTraffic {
 public:
  HostTraffic();
  ~HostTraffic();
  HostTraffic(const HostTraffic&) = delete;
  HostTraffic& operator=(const HostTraffic&) = delete;

  /// Names of operators by which the host read from the device, or waits for it on a GPU.
  std::vector<std::string> reads() const;
  /// Shapes of the tensors that went from the host to the device.
  std::vector<std::string> sent() const;

 private:
  void note(bool read, const std::string& what);
  friend struct Observer;

  mutable std::mutex mutex_;
  std::vector<std::string> reads_, sent_;
  unsigned long callback_ = 0;
};

}  // namespace riesz::testing
