// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "riesz/partition/interval.h"
#include "riesz/primitives/plan/rounds.h"

namespace riesz {

/// The hosts of workers, by world rank (`Communicator::hosts`); empty: all are on one.
using Hosts = std::vector<int>;
inline bool on_two_hosts(const Hosts& hosts, int a, int b) {
  return !hosts.empty() && hosts[static_cast<std::size_t>(a)] != hosts[static_cast<std::size_t>(b)];
}

/// A host copy: the same elements that one worker sends to several workers of another host. They go there
/// once, in pieces. Each receiver gets at most one piece from the sender, and then gives it to the others of
/// its host. Which one gets which piece depends on the sender, so no receiver has all the work.
struct HostCopy {
  /// The elements are cut into at most elements / kLeastPiece pieces, and into one at least.
  static constexpr std::int64_t kLeastPiece = 8192;

  int sender;                  ///< its number among the senders: it decides which receiver gets which piece
  std::vector<int> receivers;  ///< world ranks, two at least, in an order that all of these workers know
  std::int64_t elements;

  /// The piece that comes to this receiver from the sender; it may be empty. `boxes` are the elements, in any
  /// worker's local indices.
  std::vector<Box> piece_for(int receiver, const std::vector<Box>& boxes) const;
};

/// A host copy, and its boxes in this worker's y.
using CopyInY = std::pair<HostCopy, std::vector<Box>>;

/// The round in which `worker` and the others of its host give each other their pieces. `copies`: those that
/// the worker is a receiver of, by sender. Local.
Round spread(const std::vector<CopyInY>& copies, int worker, const std::vector<std::int64_t>& y_shape);

}  // namespace riesz
