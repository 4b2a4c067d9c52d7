// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz::testing {

/// While it lives, the host's memory may be full for the thread that made it: after `fill` operator new
/// throws std::bad_alloc there for 32 KiB or more. So an exception can still be thrown and caught.
class FullHost {
 public:
  FullHost();
  ~FullHost();
  FullHost(const FullHost&) = delete;
  FullHost& operator=(const FullHost&) = delete;

  /// From any thread.
  void fill();
  /// Has operator new thrown?
  bool refused() const;
};

}  // namespace riesz::testing
