// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/pipedream.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

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

/// The best pipelines of ranges of the blocks on the workers of a level.
class Pipelines {
 public:
  enum class Least { time, memory };

  Pipelines(const std::vector<Block>& blocks, std::vector<WorkerLevel> levels,
            const PipeDreamOptions& options, Least least)
      : blocks_(blocks), in_(blocks), levels_(std::move(levels)), options_(options), least_(least) {}

  /// Infinite if there is none.
  double least() { return value(best(whole())); }
  Division division() {
    Division all;
    flatten(whole(), all);
    return all;
  }
  /// Of each stage, how many of each level, the innermost first.
  const std::vector<std::vector<int>>& by_level() const { return by_level_; }

 private:
  /// Blocks [begin, end) on what one of the level above joins. There are `copies` of it, which take turns,
  /// and `after` workers have what comes after.
  struct Part {
    std::size_t level;
    std::size_t begin, end;
    int copies, after;
    auto operator<=>(const Part&) const = default;
  };

  Part whole() const { return {levels_.size() - 1, 0, blocks_.size(), 1, 0}; }

  /// What one of a stage's r is, where `from_here` of the part's have it and all after it.
  Part inside(const Part& part, std::size_t begin, std::size_t end, int r, int from_here) const {
    int size = 1;
    for (std::size_t k = 0; k < part.level; ++k) size *= levels_[k].count;
    const int after = part.after + part.copies * size * (from_here - r);
    return {part.level - 1, begin, end, part.copies * r,
            std::isfinite(options_.memory) || least_ == Least::memory ? after : 0};
  }

  static double value(const Division& division) { return division.ends.empty() ? kNever : division.largest; }

  const Division& best(const Part& part) {
    const auto found = best_.find(part);
    if (found != best_.end()) return found->second;
    const int replicas = std::max(1, options_.replicas / part.copies);
    Division made = divide(part.end - part.begin, levels_[part.level].count, replicas,
                           [&](std::size_t begin, std::size_t end, int r, int from_here) {
                             return cost(part, part.begin + begin, part.begin + end, r, from_here);
                           });
    return best_.emplace(part, std::move(made)).first->second;
  }

  double cost(const Part& part, std::size_t begin, std::size_t end, int r, int from_here) {
    const bool innermost = part.level == 0;
    const double each = innermost ? on_a_worker(part, begin, end, r, from_here)
                                  : value(best(inside(part, begin, end, r, from_here)));
    if (least_ == Least::memory) return each;
    const double bandwidth = levels_[part.level].bandwidth;
    const double reduced = 4 * (r - 1) * in_(begin, end).parameters / (r * bandwidth);
    const double arrives = begin == part.begin ? 0 : 2 * blocks_[begin - 1].output / bandwidth;
    return std::max((each + reduced) / r, arrives);
  }

  double on_a_worker(const Part& part, std::size_t begin, std::size_t end, int r, int from_here) const {
    const int dealt = r * part.copies;
    const int under_way = (from_here * part.copies + part.after + dealt - 1) / dealt;
    const double memory = under_way * in_(begin, end).memory();
    if (least_ == Least::memory) return memory;
    return memory > options_.memory ? kNever : in_(begin, end).time;
  }

  /// Appends the stages of a part, on workers.
  void flatten(const Part& part, Division& all) {
    const Division division = best(part);
    std::size_t begin = part.begin;
    int left = levels_[part.level].count;
    for (std::size_t s = 0; s < division.ends.size(); ++s) {
      const std::size_t end = part.begin + division.ends[s];
      const int r = division.workers[s];
      dealt_.push_back(r);
      if (part.level > 0) {
        flatten(inside(part, begin, end, r, left), all);
      } else {
        all.ends.push_back(end);
        all.workers.push_back(r * part.copies);
        by_level_.emplace_back(dealt_.rbegin(), dealt_.rend());
      }
      dealt_.pop_back();
      begin = end;
      left -= r;
    }
  }

  static constexpr double kNever = std::numeric_limits<double>::infinity();

  const std::vector<Block>& blocks_;
  Ranges in_;
  std::vector<WorkerLevel> levels_;
  const PipeDreamOptions& options_;
  Least least_;
  std::map<Part, Division> best_;
  std::vector<int> dealt_;  // from the outermost level to where `flatten` is
  std::vector<std::vector<int>> by_level_;
};

/// One, if none are given.
std::vector<WorkerLevel> levels_of(int workers, const PipeDreamOptions& options) {
  if (options.levels.empty()) return {{workers, options.bandwidth}};
  std::int64_t joined = 1;
  for (const WorkerLevel& level : options.levels) {
    RIESZ_CHECK(level.count >= 1 && level.bandwidth > 0, "PipeDream: a level joins ", level.count, " by ",
                level.bandwidth, " bytes a second; it joins 1 at least, by some bandwidth");
    joined *= level.count;
  }
  RIESZ_CHECK(joined == workers, "PipeDream: the levels join ", joined, " workers, and there are ", workers);
  return options.levels;
}

}  // namespace

StagePlan pipedream(const CostTree& tree, int workers, const PipeDreamOptions& options) {
  check_costs(tree);
  RIESZ_CHECK(options.replicas >= 1 && options.bandwidth > 0 && options.memory >= 0,
              "PipeDream: ", options.replicas, " replicas, ", options.bandwidth, " bytes a second, ",
              options.memory, " bytes of memory; there is 1 replica at least, and some bandwidth");
  const std::vector<Block> all = blocks(tree);
  check_stages("PipeDream", workers, all, options.replicas);
  const std::vector<WorkerLevel> levels = levels_of(workers, options);
  Pipelines fastest(all, levels, options, Pipelines::Least::time);
  if (std::isinf(fastest.least())) {
    const double least = Pipelines(all, levels, options, Pipelines::Least::memory).least();
    RIESZ_CHECK(std::isfinite(least), "PipeDream: no plan of ", all.size(), " blocks has ", workers,
                " workers of these levels in stages of at most ", options.replicas);
    throw_error(concat("PipeDream: no plan on ", workers, " workers fits into ", options.memory,
                       " bytes each; the least with which one does is ", least));
  }
  StagePlan plan = contiguous_plan(tree, all, fastest.division());
  if (levels.size() > 1) {
    for (std::size_t s = 0; s < plan.stages.size(); ++s) plan.stages[s].by_level = fastest.by_level()[s];
  }
  return plan;
}

}  // namespace riesz
