// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/expert_parts.h"

#include <algorithm>
#include <cstddef>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

Split checked_split(std::int64_t experts, std::int64_t inner, int workers) {
  RIESZ_CHECK(experts >= 1 && inner >= 1 && workers >= 1, "experts: ", experts,
              " experts of an inner width of ", inner, " on ", workers,
              " workers; each number is at least 1");
  return Split::balanced(std::max<std::int64_t>(experts, workers), workers);
}

}  // namespace

ExpertParts::ExpertParts(std::int64_t experts, std::int64_t inner, int workers)
    : experts_(experts), inner_(inner), split_(checked_split(experts, inner, workers)) {
  const Split shared = Split::balanced(split_.extent(), static_cast<int>(experts));
  for (int expert = 0; expert < experts; ++expert) {
    const std::int64_t sharing = total(shared.held(expert));
    const Split widths = Split::balanced(inner, static_cast<int>(sharing));
    for (int part = 0; part < sharing; ++part) parts_.push_back({expert, widths.held(part).front()});
  }
}

Interval ExpertParts::parts_of(std::int64_t expert) const {
  const auto is_before = [](const Part& part, std::int64_t number) { return part.expert < number; };
  const auto begin = std::lower_bound(parts_.begin(), parts_.end(), expert, is_before);
  const auto end = std::lower_bound(begin, parts_.end(), expert + 1, is_before);
  return {begin - parts_.begin(), end - parts_.begin()};
}

Split ExpertParts::inner_of(std::int64_t expert) const {
  std::vector<std::int64_t> sizes;
  const Interval mine = parts_of(expert);
  for (int worker = 0; worker < workers(); ++worker) {
    sizes.push_back(0);
    for (const Interval& held : split_.held(worker))
      for (std::int64_t part = std::max(held.begin, mine.begin); part < std::min(held.end, mine.end); ++part)
        sizes.back() += parts_[static_cast<std::size_t>(part)].inner.size();
  }
  return Split::sizes(sizes);
}

}  // namespace riesz
