// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "riesz/pipeline/schedule/schedule.h"
#include "riesz/pipeline/schedule/under_way.h"

namespace riesz {

/// What joins the chunks, beside each chunk's result that the next one takes.
struct Boundaries {
  /// How many messages may be under way from one worker to another. A message is under way from its action's
  /// end until an action that needs it starts. A worker without room for the next one waits.
  int capacity = std::numeric_limits<int>::max();
  /// (from, to): what chunk `from` also sends to the later chunk `to`, which sends its gradient back.
  std::vector<std::pair<int, int>> skips;
};

/// Can the table be run? It can if
///   - each chunk lies on one worker, and has each micro-batch's forward pass once;
///   - if anything goes backward, all does, once: whole, or of inputs and then of weights;
///   - a backward pass comes after its forward pass, and after its recompute if it has one;
///   - a forward pass comes after that of the chunk before, a backward pass after that of the chunk after it;
///   - the messages from one chunk to another are needed in the order in which they are sent;
///   - each version of weights that is read has been made;
///   - a backward pass reads its forward pass's version, or a newer one;
///   - no workers wait for each other in a circle, with the capacity given.
/// Local; costs time and memory proportional to the table. @returns what is under way at most. @throws Error
/// that names the first wrong action with its worker and slot, and why it is wrong.
UnderWay verify(const Schedule& schedule, const Boundaries& boundaries = {});

}  // namespace riesz
