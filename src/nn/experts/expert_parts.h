// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/split.h"

namespace riesz {

/// Experts over the workers of one axis. Up to as many workers as experts hold whole ones, balanced: 3
/// experts on 2 workers are 2 and 1. Where there are more workers, several share an expert: its inner width
/// is split over them, as in tensor parallelism. So 2 experts on 5 workers are cut in 3 parts and in 2. A
/// part is an expert, or what one of the workers that share it holds of it. Local; the same on all workers.
class ExpertParts {
 public:
  struct Part {
    std::int64_t expert;
    Interval inner;  ///< of the expert's inner width

    bool operator==(const Part&) const = default;
  };

  /// @throws Error unless there is an expert, a worker, and an inner width of at least 1.
  ExpertParts(std::int64_t experts, std::int64_t inner, int workers);

  std::int64_t experts() const { return experts_; }
  int workers() const { return split_.workers(); }
  /// All parts, sorted by expert.
  const std::vector<Part>& parts() const { return parts_; }
  /// The numbers of an expert's parts.
  Interval parts_of(std::int64_t expert) const;
  /// Which parts each worker holds, one where workers share experts.
  const Split& split() const { return split_; }
  /// How the inner width of an expert is split over the workers, of which most hold nothing.
  Split inner_of(std::int64_t expert) const;

 private:
  std::int64_t experts_;
  std::int64_t inner_;
  std::vector<Part> parts_;
  Split split_;
};

}  // namespace riesz
