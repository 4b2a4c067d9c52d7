// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/divide.h"

#include <algorithm>
#include <limits>

namespace riesz {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The best ways to divide the things from `begin` on among exactly so many workers.
class Ways {
 public:
  /// `join` (cost of the first stage, value of the rest) → value of both: it grows with each.
  Ways(std::size_t things, int workers, int replicas, const StageCost& cost, double (*join)(double, double))
      : things_(things), workers_(workers), ways_((things + 1) * (static_cast<std::size_t>(workers) + 1)) {
    at(things, 0).value = 0;
    for (std::size_t begin = things; begin-- > 0;) {
      for (int left = 1; left <= workers; ++left) {
        Way& best = at(begin, left);
        for (std::size_t end = things; end > begin; --end) {
          for (int r = 1; r <= std::min(left, replicas); ++r) {
            const double rest = at(end, left - r).value;
            if (rest == kNever) continue;
            const double value = join(cost(begin, end, r, left), rest);
            if (value < best.value) best = {value, end, r};
          }
        }
      }
    }
  }

  double value() const { return ways_[index(0, workers_)].value; }

  Division division(const StageCost& cost) const {
    Division found;
    if (value() == kNever) return found;
    int left = workers_;
    for (std::size_t begin = 0; begin < things_;) {
      const Way& way = ways_[index(begin, left)];
      found.ends.push_back(way.end);
      found.workers.push_back(way.workers);
      found.largest = std::max(found.largest, cost(begin, way.end, way.workers, left));
      begin = way.end;
      left -= way.workers;
    }
    return found;
  }

 private:
  struct Way {
    double value = kNever;
    std::size_t end = 0;  // of the first stage
    int workers = 0;      // of it
  };

  std::size_t index(std::size_t begin, int left) const {
    return begin * (static_cast<std::size_t>(workers_) + 1) + static_cast<std::size_t>(left);
  }
  Way& at(std::size_t begin, int left) { return ways_[index(begin, left)]; }

  std::size_t things_;
  int workers_;
  std::vector<Way> ways_;
};

}  // namespace

Division divide(std::size_t things, int workers, int replicas, const StageCost& cost) {
  const double largest = Ways(things, workers, replicas, cost, [](double first, double rest) {
                           return std::max(first, rest);
                         }).value();
  const StageCost within = [&](std::size_t begin, std::size_t end, int r, int from_here) {
    const double value = cost(begin, end, r, from_here);
    return value <= largest ? value : kNever;
  };
  const auto squares = [](double first, double rest) { return first * first + rest; };
  return Ways(things, workers, replicas, within, squares).division(cost);
}

Division divide(const std::vector<double>& costs, int stages) {
  std::vector<double> before(costs.size() + 1, 0);
  for (std::size_t i = 0; i < costs.size(); ++i) before[i + 1] = before[i] + costs[i];
  return divide(costs.size(), stages, 1,
                [&](std::size_t begin, std::size_t end, int, int) { return before[end] - before[begin]; });
}

}  // namespace riesz
