// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/rounds.h"

#include <algorithm>
#include <utility>

namespace riesz {
namespace {

using Shape = std::vector<std::int64_t>;

Shape sizes_of(const Box& box) {
  Shape sizes;
  for (const Interval& interval : box) sizes.push_back(interval.size());
  return sizes;
}

Box all_of(const Box& box) {
  Box all;
  for (const Interval& interval : box) all.push_back({0, interval.size()});
  return all;
}

}  // namespace

Parts Parts::out_of(const Shape& shape, std::vector<Box> boxes) {
  Parts parts;
  for (const Box& box : boxes) {
    parts.copies.push_back(box_copy(shape, box, sizes_of(box), all_of(box)));
    parts.copies.back().to += std::exchange(parts.elements, parts.elements + volume(box));
  }
  parts.boxes = std::move(boxes);
  return parts;
}

Parts Parts::into(const Shape& shape, std::vector<Box> boxes) {
  Parts parts;
  for (const Box& box : boxes) {
    parts.copies.push_back(box_copy(sizes_of(box), all_of(box), shape, box));
    parts.copies.back().from += std::exchange(parts.elements, parts.elements + volume(box));
  }
  parts.boxes = std::move(boxes);
  return parts;
}

void Rounds::add(Round round) {
  for (const Round::Send& send : round.sends) {
    round.to.push_back(send.peer);
    round.largest = std::max(round.largest, send.parts.elements);
    if (send.parts.elements > 0) round.traffic += {send.parts.elements, 0, 1};
  }
  for (std::size_t i = 0; i < round.receives.size(); ++i) {
    if (round.stays_at == i) continue;
    round.from.push_back(round.receives[i].peer);
    round.largest = std::max(round.largest, round.receives[i].parts.elements);
  }
  std::vector<int> to = round.to, from = round.from;
  std::sort(to.begin(), to.end());
  std::sort(from.begin(), from.end());
  round.answered = std::includes(from.begin(), from.end(), to.begin(), to.end());
  rounds.push_back(std::move(round));
}

Traffic Rounds::traffic() const {
  Traffic sum;
  for (const Round& round : rounds) sum += round.traffic;
  return sum;
}

}  // namespace riesz
