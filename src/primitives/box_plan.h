// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "riesz/primitives/box_copy.h"
#include "riesz/primitives/routes.h"
#include "riesz/primitives/sum_cells.h"

namespace riesz {

/// What one worker does in a box exchange: whom it sends which parts of x, from whom it gets which parts of
/// y, and which part stays with it. Made once; a call only follows it. Its size is in proportion to this
/// worker's neighbours.
struct BoxPlan {
  std::vector<Route> out;              ///< to other workers
  std::vector<Route> in;               ///< in rank order, the part that stays included
  std::vector<int> send_peers;         ///< world ranks of `out`, then of those who are told the type
  std::vector<int> receive_peers;      ///< world ranks of `in` without the part that stays, or of a teller
  std::optional<Route> kept;           ///< the part that stays, in x
  std::optional<std::size_t> kept_at;  ///< its position in `in`
  std::vector<std::vector<BoxCopy>> pack;    ///< of each of `out`, by part: x → its parcel
  std::vector<bool> repeats;                 ///< of each of `out`: has it the parts of the one before?
  std::vector<std::vector<BoxCopy>> unpack;  ///< of each of `in`, by part: its parcel → y
  std::vector<BoxCopy> keep;                 ///< x → y
  bool adds = false;                         ///< parts are terms, to be added
  std::vector<SumCell> cells;                ///< y, where it adds what is not whole
  bool whole = false;                        ///< each incoming part is one box, all of y
  bool fills = false;                        ///< the incoming parts are all of y, each element once
  bool identity = false;                     ///< y is x
  bool lets_go = false;                      ///< what it sends it need not see off
  bool outside = false;                      ///< it has no part of x: the senders know its type
  bool told = false;                         ///< and nothing of x comes: a message without elements tells it

  /// Does this worker send or receive anything?
  bool moves() const { return !send_peers.empty() || !receive_peers.empty(); }
};

/// The plan of this worker for `routes` from X to Y; empty where it is on neither partition.
BoxPlan plan_boxes(const Routes& routes, const Space& X, const Space& Y);

}  // namespace riesz
