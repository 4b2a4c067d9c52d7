// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/comm/operation.h"
#include "riesz/comm/team/collective.h"

namespace riesz {

/// Offsets of the workers' pieces in a team's flat vector: the worker at position i has [offsets[i],
/// offsets[i+1]). They ascend from zero or more; pieces may be empty.
using PieceOffsets = std::vector<std::int64_t>;

/// A team buffer: a flat buffer on each worker of a team, for collectives on many tensors together, in the
/// background.
///
/// A collective has begun when its call returns. All members begin the collectives on one buffer in the same
/// order. Collectives on different buffers may begin in any order, which may differ between workers. Members
/// that begin different collectives get an Error that names both. Until a collective ends, nobody may write
/// what it reads or use what it writes. Collectives on different parts of one buffer may overlap.
///
/// Sums are made in the team's order (`ordered_sum`), so their bits do not depend on the transport. The
/// operation's messages are what this worker sends, what others read from its memory, and what it writes into
/// theirs. They are counted at the latest when `wait` returns. A team of one worker sends nothing.
class TeamBuffer {
 public:
  /// Makes a buffer of zeros on each worker. Collective over the team: `team` has world ranks in the team's
  /// order, this worker among them.
  /// @throws Error unless they are ranks of the job, each once, with this worker.
  TeamBuffer(std::vector<int> team, std::int64_t elements, at::ScalarType type, at::Device device = at::kCPU);
  ~TeamBuffer();
  TeamBuffer(TeamBuffer&&) noexcept;
  TeamBuffer& operator=(TeamBuffer&&) noexcept;

  /// This worker's buffer, a 1-D tensor.
  const at::Tensor& local() const;
  const std::vector<int>& team() const;
  /// This worker's position in the team.
  int position() const;

  /// Sums each piece over the team's buffers, into every buffer, in place. A worker first sends each other
  /// worker the elements of that one's piece: n − |its own piece| in all. Then it sends its own summed piece
  /// to each of the p − 1 others. With even pieces that is 2(p−1)/p·n elements, in 2 messages a peer.
  std::shared_ptr<TeamCollective> all_reduce(const Operation& operation, const PieceOffsets& pieces);

  /// out = Σ_r buffer_r[this worker's piece]; with `add`, out += that sum. `out` is 1-D, as long as the
  /// piece; it may be that piece of local() itself. A worker sends n − |its piece| elements.
  std::shared_ptr<TeamCollective> reduce_scatter(const Operation& operation, const PieceOffsets& pieces,
                                                 const at::Tensor& out, bool add = false);

  /// Contents of a buffer before an `all_gather`: the whole vector with this worker's piece at its offset, or
  /// the piece alone.
  enum class Contents { whole, piece };

  /// out[pieces.front():] = the pieces together. `out` is 1-D, of pieces.back() elements or more; it may be
  /// local() itself, where that holds the whole. A piece alone begins at element `from` of every buffer. A
  /// worker sends its piece to each other worker.
  std::shared_ptr<TeamCollective> all_gather(const Operation& operation, const PieceOffsets& pieces,
                                             Contents holds, const at::Tensor& out, std::int64_t from = 0);

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace riesz
