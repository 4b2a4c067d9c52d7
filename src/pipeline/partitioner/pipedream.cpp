// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/pipedream.h"

#include <algorithm>
#include <cstddef>

#include "riesz/comm/error.h"
#include "riesz/pipeline/partitioner/contiguous.h"
#include "riesz/pipeline/partitioner/divide.h"

namespace riesz {
namespace {

/// What is in each range of the blocks.
class Ranges {
 public:
  explicit Ranges(const std::vector<Block>& blocks) : before_(1) {
    for (const Block& block : blocks) {
      before_.push_back(before_.back());
      before_.back() += block.cost;
    }
  }

  Cost operator()(std::size_t begin, std::size_t end) const {
    const Cost &a = before_[begin], &b = before_[end];
    return {b.time - a.time, b.parameters - a.parameters, b.activations - a.activations};
  }

 private:
  std::vector<Cost> before_;
};

}  // namespace

StagePlan pipedream(const CostTree& tree, int workers, const PipeDreamOptions& options) {
  check_costs(tree);
  RIESZ_CHECK(options.replicas >= 1 && options.bandwidth > 0 && options.memory >= 0,
              "PipeDream: ", options.replicas, " replicas, ", options.bandwidth, " bytes a second, ",
              options.memory, " bytes of memory; there is 1 replica at least, and some bandwidth");
  const std::vector<Block> all = blocks(tree);
  check_stages("PipeDream", workers, all, options.replicas);
  const Ranges in(all);

  const StageCost memory = [&](std::size_t begin, std::size_t end, int r, int from_here) {
    const int under_way = (from_here + r - 1) / r;
    return under_way * in(begin, end).memory();
  };
  const StageCost time = [&](std::size_t begin, std::size_t end, int r, int from_here) {
    if (memory(begin, end, r, from_here) > options.memory) return std::numeric_limits<double>::infinity();
    const Cost stage = in(begin, end);
    const double reduced = 4 * (r - 1) * stage.parameters / (r * options.bandwidth);
    const double arrives = begin == 0 ? 0 : 2 * all[begin - 1].output / options.bandwidth;
    return std::max((stage.time + reduced) / r, arrives);
  };
  const Division division = divide(all.size(), workers, options.replicas, time);
  RIESZ_CHECK(!division.ends.empty(), "PipeDream: no plan on ", workers, " workers fits into ",
              options.memory, " bytes each; the least with which one does is ",
              divide(all.size(), workers, options.replicas, memory).largest);
  return contiguous_plan(tree, all, division);
}

}  // namespace riesz
