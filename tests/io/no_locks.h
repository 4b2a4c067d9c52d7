// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz::testing {

/// While it lives, no file system has locks: flock fails as it does on those that know none.
class NoLocks {
 public:
  NoLocks();
  ~NoLocks();
  NoLocks(const NoLocks&) = delete;
  NoLocks& operator=(const NoLocks&) = delete;
};

}  // namespace riesz::testing
