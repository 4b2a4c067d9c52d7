// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/split.h"

namespace riesz {

/// Experts over the workers of one axis. With no more workers than experts, each worker holds whole experts:
/// 3 experts on 2 workers are 2 and 1. With more, several workers share one. Each has a part of its inner
/// width, as in tensor parallelism: 2 experts on 5 workers are cut into 3 parts and 2. A *part* is a whole
/// expert, or what one of the workers that share it holds. Local; the same on all workers.
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
  /// Which parts each worker holds. It is one part where workers share experts.
  const Split& split() const { return split_; }
  /// How an expert's inner width is split over all workers. A worker without a part of it has width 0.
  Split inner_of(std::int64_t expert) const;

 private:
  std::int64_t experts_;
  std::int64_t inner_;
  std::vector<Part> parts_;
  Split split_;
};

}  // namespace riesz
