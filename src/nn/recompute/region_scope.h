// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace riesz {

/// Decides when regions (`recompute`) run again: those that this thread calls, while gradients are recorded,
/// from its construction until `leave`. The innermost scope decides. Without one, regions run again when
/// backward reaches them.
///
///     RegionScope regions(RegionScope::Regions::ahead);
///     …                       // forward, with regions
///     regions.leave();
///     regions.run_again();    // while the gradient is on its way
///     …                       // backward, which finds there what it needs
class RegionScope {
 public:
  enum class Regions {
    plain,  ///< they are plain calls, of which all is kept
    ahead,  ///< they may run again ahead of backward
  };

  explicit RegionScope(Regions what);
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;

  /// This thread's scope ends here. @throws Error unless it is this thread's innermost.
  void leave();
  /// Runs the regions called in it again, in the order of their calls, on the calling thread and in its
  /// channel of messages. Backward then does not run them again. Regions inside of these run again when
  /// backward reaches them. Regions that backward has reached already, or never will, are left out.
  /// Collective as the second run in backward, with its cost and errors; what that run saves lives from now
  /// on.
  void run_again();
  /// Number of regions that `run_again` would try.
  std::size_t size() const { return again_.size(); }

  /// This thread's innermost, or nullptr.
  static RegionScope* current();
  Regions what() const { return what_; }
  /// Notes that a region was called, and how it runs again. `recompute` calls it.
  void note(std::function<void()> again) { again_.push_back(std::move(again)); }

 private:
  Regions what_;
  RegionScope* outer_;
  bool left_ = false;
  std::vector<std::function<void()>> again_;
};

namespace detail {

/// While it lives, this thread is in the forward of a region of that name; they nest.
class InRegion {
 public:
  explicit InRegion(std::string name);
  ~InRegion();
  InRegion(const InRegion&) = delete;
  InRegion& operator=(const InRegion&) = delete;

  /// The innermost region's name; nullptr: this thread is in none.
  static const std::string* name();

 private:
  std::string name_;
  const InRegion* outer_;
};

}  // namespace detail
}  // namespace riesz
