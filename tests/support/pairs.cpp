// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pairs.h"

#include <algorithm>
#include <cstddef>

namespace riesz::testing {
namespace {

/// Which pairs of values are there: a table over all values of all factors.
class Pairs {
 public:
  explicit Pairs(const std::vector<Choice>& choices) {
    std::vector<int> values(choices.empty() ? 0 : choices.front().size());
    for (const Choice& choice : choices) {
      for (std::size_t k = 0; k < choice.size(); ++k) values[k] = std::max(values[k], choice[k] + 1);
    }
    for (const int n : values) {
      first_.push_back(all_);
      all_ += static_cast<std::size_t>(n);
    }
    there_.resize(all_ * all_);
  }

  /// f(pair) for each pair of a choice.
  template <typename F>
  void each(const Choice& choice, F&& f) const {
    for (std::size_t a = 0; a < choice.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) f(value(a, choice) * all_ + value(b, choice));
    }
  }
  int missing(const Choice& choice) const {
    int count = 0;
    each(choice, [&](std::size_t pair) { count += there_[pair] ? 0 : 1; });
    return count;
  }
  void add(const Choice& choice) {
    each(choice, [&](std::size_t pair) { there_[pair] = true; });
  }

 private:
  std::size_t value(std::size_t factor, const Choice& choice) const {
    return first_[factor] + static_cast<std::size_t>(choice[factor]);
  }

  std::vector<std::size_t> first_;  // number of each factor's first value among all
  std::size_t all_ = 0;
  std::vector<bool> there_;
};

}  // namespace

std::vector<Choice> all_choices(const std::vector<int>& values,
                                const std::function<bool(const Choice&)>& allowed) {
  std::vector<Choice> all;
  if (std::any_of(values.begin(), values.end(), [](int n) { return n < 1; })) return all;
  Choice choice(values.size(), 0);
  while (true) {
    if (!allowed || allowed(choice)) all.push_back(choice);
    std::size_t k = values.size();
    while (k > 0 && ++choice[k - 1] == values[k - 1]) choice[--k] = 0;
    if (k == 0) return all;
  }
}

std::vector<Choice> covering_pairs(const std::vector<Choice>& choices,
                                   const std::function<double(const Choice&)>& cost) {
  Pairs pairs(choices);
  const auto worth = [&](const Choice& choice) {
    return pairs.missing(choice) / (cost ? cost(choice) : 1.0);
  };
  std::vector<double> at_most;  // what a choice is worth becomes less as time goes on
  for (const Choice& choice : choices) at_most.push_back(worth(choice));
  std::vector<Choice> covering;
  while (true) {
    std::size_t best = choices.size();
    double most = 0;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (at_most[i] <= most) continue;
      at_most[i] = worth(choices[i]);
      if (at_most[i] <= most) continue;
      best = i;
      most = at_most[i];
    }
    if (best == choices.size()) return covering;
    pairs.add(choices[best]);
    covering.push_back(choices[best]);
  }
}

}  // namespace riesz::testing
