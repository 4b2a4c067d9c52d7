// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/host_copy.h"

#include <algorithm>
#include <map>

#include "riesz/partition/split.h"

namespace riesz {
namespace {

/// Each box is cut along its first dim that is long enough, else along its longest.
std::vector<Box> piece_of(std::vector<Box> boxes, int pieces, int piece) {
  if (pieces == 1) return boxes;
  const auto shorter = [](const Interval& a, const Interval& b) { return a.size() < b.size(); };
  const auto long_enough = [&](const Interval& dim) { return dim.size() >= pieces; };
  for (Box& box : boxes) {
    auto dim = std::find_if(box.begin(), box.end(), long_enough);
    if (dim == box.end()) dim = std::max_element(box.begin(), box.end(), shorter);
    const Interval part = balanced_interval(dim->size(), pieces, 1, piece);
    *dim = {dim->begin + part.begin, dim->begin + part.end};
  }
  std::erase_if(boxes, [](const Box& box) { return volume(box) == 0; });
  return boxes;
}

void append(std::vector<Box>& to, const std::vector<Box>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::vector<Box> HostCopy::piece_for(int receiver, const std::vector<Box>& boxes) const {
  const auto count = static_cast<int>(receivers.size());
  const auto at =
      static_cast<int>(std::find(receivers.begin(), receivers.end(), receiver) - receivers.begin());
  const auto pieces = static_cast<int>(std::clamp<std::int64_t>(elements / kLeastPiece, 1, count));
  const int piece = (at + count - sender % count) % count;
  return piece < pieces ? piece_of(boxes, pieces, piece) : std::vector<Box>{};
}

Round spread(const std::vector<CopyInY>& copies, int worker, const std::vector<std::int64_t>& y_shape) {
  std::map<int, std::vector<Box>> out, in;  // by peer
  for (const auto& [copy, boxes] : copies) {
    const std::vector<Box> mine = copy.piece_for(worker, boxes);
    for (const int peer : copy.receivers) {
      if (peer == worker) continue;
      append(out[peer], mine);
      append(in[peer], copy.piece_for(peer, boxes));
    }
  }
  Round round;
  round.source = Round::Source::y;
  for (auto& [peer, boxes] : out) {
    if (boxes.empty()) continue;
    const bool repeats = !round.sends.empty() && round.sends.back().parts.boxes == boxes;
    round.sends.push_back({peer, Parts::out_of(y_shape, std::move(boxes)), repeats});
  }
  for (auto& [peer, boxes] : in) {
    if (!boxes.empty()) round.receives.push_back({peer, Parts::into(y_shape, std::move(boxes))});
  }
  return round;
}

}  // namespace riesz
