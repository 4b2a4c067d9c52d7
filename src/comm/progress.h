// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

namespace riesz {

/// Something under way that goes on when it is asked to.
class Activity {
 public:
  virtual ~Activity() = default;

  /// Goes as far as it can without waiting; true once it has ended, well or not. Called by one thread at a
  /// time.
  virtual bool advance() = 0;
};

/// Advances `activity` in the background until it ends, since MPI alone moves nothing while the program
/// computes. One thread of the process does so for all activities; it sleeps while there are none. What has
/// begun is kept until it has ended, also if nobody waits for it.
void advance_in_background(std::shared_ptr<Activity> activity);

/// Returns when all activities have ended. `Runtime` calls it before it ends MPI.
void finish_background();

}  // namespace riesz
