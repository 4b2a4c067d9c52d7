// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/team/buffer.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// The workers that share a bucket, and the pieces of its n elements that are theirs: balanced, uneven where
/// they do not divide, not padded.
struct Team {
  std::vector<int> workers;  ///< world ranks
  int mine = 0;              ///< this worker's position
  PieceOffsets begins;

  /// The team of this worker along axes of P; itself alone where it is not in P.
  static Team along(const Partition& P, const std::vector<std::string>& axes, std::int64_t elements);

  int size() const { return static_cast<int>(workers.size()); }
  std::int64_t elements() const { return begins.back(); }
  std::int64_t begin(int worker) const { return begins[static_cast<std::size_t>(worker)]; }
  std::int64_t end(int worker) const { return begins[static_cast<std::size_t>(worker) + 1]; }
  std::int64_t begin() const { return begin(mine); }
  std::int64_t end() const { return end(mine); }
  std::int64_t largest() const;
};

/// Buffers in which a team's gradients lie only while they are summed: two, in turns, which are alike on all
/// workers. Longer vectors pass in segments.
class PassingBuffers {
 public:
  /// Buffers of no elements: nothing passes. Collective over the team.
  PassingBuffers() = default;
  PassingBuffers(const std::vector<int>& team, std::int64_t elements, at::ScalarType type, at::Device device);

  std::int64_t elements() const;
  std::int64_t bytes() const;

  /// Has the next one nothing that moves in it? If it may `wait`, it has.
  bool free(bool wait);
  TeamBuffer& next() { return *buffers_[turn_]; }
  /// `collective` goes on in the next one; then the other's turn comes.
  void take_turn(const std::shared_ptr<TeamCollective>& collective);

 private:
  std::array<std::unique_ptr<TeamBuffer>, 2> buffers_;
  std::array<std::shared_ptr<TeamCollective>, 2> collectives_;
  std::size_t turn_ = 0;
};

/// What the buckets of a team share.
struct TeamMemory {
  std::unique_ptr<TeamBuffer> pieces;  ///< of values that live a use, bucket after bucket
  std::int64_t taken = 0;              ///< elements of it
  PassingBuffers passing;              ///< of gradients that live a micro-batch
};

}  // namespace riesz
