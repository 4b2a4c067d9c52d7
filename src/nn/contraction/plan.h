// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/primitives/operator.h"

namespace riesz::detail {

/// The panels of one index: the parts of an operand that are read at once. Operands without the index are
/// read whole.
struct Stream {
  char index;
  std::vector<Interval> panels;  ///< of the index's extent
  std::array<std::vector<Operator>, 3>
      read;  ///< by operand, a panel each; none for an operand without the index
};

/// How each operand is brought to where it is multiplied.
struct ContractionPlan {
  Indices indices;
  Parallel parallel;
  std::array<Operator, 3> read;  ///< of x, w, ȳ: stored space → computing space
  ContractionOptions options;
  std::optional<Stream> stream;

  /// How often operand k is read or written, and the operator that does it.
  std::size_t reads(std::size_t k) const { return streams(k) ? stream->panels.size() : 1; }
  const Operator& read_of(std::size_t k, std::size_t panel) const {
    return streams(k) ? stream->read[k][panel] : read[k];
  }
  bool streams(std::size_t k) const { return stream && !stream->read[k].empty(); }
};

/// The rule of `Contraction`, from placements alone; Y has no dim of any extent.
Parallel parallel_by_rule(const Indices& indices, const Space& X, const Space& W, const Space& Y);

/// Y before its sums over workers: Partial on the axes whose parallel index is summed over. The rule chooses
/// the same indices for it as for Y.
Space as_terms(const Indices& indices, const Space& X, const Space& W, const Space& Y);

/// The reads for these parallel indices. Axes of one index are ordered as X, then W, then Y list them.
std::array<Operator, 3> reads_of(const Indices& indices, const Space& X, const Space& W, const Space& Y,
                                 const Parallel& parallel);

/// The parallel indices with the least traffic of all workers together, in the value and both gradients; the
/// rule's where others are only as cheap. Cost: (indices + 1)^axes plans, each priced on all workers. Local.
Parallel cheapest_parallel(const Indices& indices, const Space& X, const Space& W, const Space& Y,
                           const ContractionOptions& options);

/// @throws Error naming the option and the remedy where options contradict each other.
ContractionPlan plan_contraction(const Indices& indices, const Space& X, const Space& W, const Space& Y,
                                 const ContractionOptions& options = {});

/// Traffic that leaves the worker of `rank` of W's partition in the value, and in the gradients wanted.
Traffic forward_traffic(const ContractionPlan& plan, int rank);
Traffic backward_traffic(const ContractionPlan& plan, int rank, GradientsWanted wanted = {});

}  // namespace riesz::detail
