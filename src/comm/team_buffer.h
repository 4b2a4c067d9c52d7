// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/comm/operation.h"
#include "riesz/comm/team_move.h"

namespace riesz {

/// Where each worker's piece of a team's flat vector begins, and the end: the worker at place i of the team
/// has [begins[i], begins[i+1]). Ascending from zero or more; pieces may be empty.
using Pieces = std::vector<std::int64_t>;

/// A flat buffer on each worker of a team, for moves of many tensors at once in the background.
///
/// A move has begun when its call returns. All members begin the same moves on a buffer in one order; moves
/// on different buffers in any, another on each worker. What they are up to is compared, so workers that
/// begin different moves end with an Error that names both. From a move's begin to its end nobody writes what
/// it reads, nor uses what it writes. Moves on different parts of one buffer may be under way together.
///
/// Sums are made in the team's order: the same bits whatever way they travel (`ordered_sum`). What is
/// sent, or taken from this worker's memory, or put into another's, is counted as it goes, under the
/// operation's name and as messages, and by the end of `wait`; a team of one worker moves nothing.
class TeamBuffer {
 public:
  /// Zeros. Collective over the team: `team` has world ranks in the team's order, this worker among them.
  /// @throws Error unless they are ranks of the job, each once, with this worker.
  TeamBuffer(std::vector<int> team, std::int64_t elements, at::ScalarType type, at::Device device = at::kCPU);
  ~TeamBuffer();
  TeamBuffer(TeamBuffer&&) noexcept;
  TeamBuffer& operator=(TeamBuffer&&) noexcept;

  /// This worker's, 1-D.
  const at::Tensor& local() const;
  const std::vector<int>& team() const;
  /// This worker's place in the team.
  int place() const;

  /// Each piece summed over the team's buffers, into every buffer, in place. A worker sends n − |its piece|
  /// elements and then its piece to each other: with even pieces 2(p−1)/p·n, in 2 messages a peer.
  std::shared_ptr<TeamMove> all_reduce(const Operation& operation, const Pieces& pieces);

  /// out = Σ_r buffer_r[this worker's piece]; with `add`, out += that sum. `out` is 1-D, as long as the
  /// piece; it may be that piece of local() itself. A worker sends n − |its piece| elements.
  std::shared_ptr<TeamMove> reduce_scatter(const Operation& operation, const Pieces& pieces,
                                           const at::Tensor& out, bool add = false);

  /// What a buffer holds before an `all_gather`: the vector, with the own piece at its place, or the own
  /// piece alone, from an element on.
  enum class Holds { whole, piece };

  /// out[pieces.front():] = the pieces together. `out` is 1-D, of pieces.back() elements or more; it may be
  /// local() itself, where that holds the whole. A piece alone begins at element `from` of every buffer. A
  /// worker sends its piece to each other.
  std::shared_ptr<TeamMove> all_gather(const Operation& operation, const Pieces& pieces, Holds holds,
                                       const at::Tensor& out, std::int64_t from = 0);

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace riesz
