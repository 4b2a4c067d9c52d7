// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/capacity.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstddef>

#include "riesz/comm/host_value.h"
#include "riesz/comm/simulation.h"
#include "riesz/nn/vectors/to_space.h"

namespace riesz::detail {
namespace {

using Counts = std::vector<std::int64_t>;

/// A run of tokens of any worker.
struct PlacedRun {
  std::int64_t first;  // token
  std::size_t worker, number;
};

std::vector<PlacedRun> in_order(const TokenRuns& tokens) {
  std::vector<PlacedRun> all;
  for (std::size_t worker = 0; worker < tokens.runs.size(); ++worker)
    for (std::size_t number = 0; number < tokens.runs[worker].size(); ++number)
      all.push_back({tokens.runs[worker][number].first, worker, number});
  std::sort(all.begin(), all.end(), [](const PlacedRun& a, const PlacedRun& b) { return a.first < b.first; });
  return all;
}

/// A number for each run, choice and expert of a worker.
struct Table {
  std::int64_t k, experts;
  Counts numbers;

  Table(std::int64_t runs, std::int64_t choices, std::int64_t of_experts)
      : k(choices), experts(of_experts), numbers(static_cast<std::size_t>(runs * choices * of_experts), 0) {}
  std::size_t at(std::size_t run, std::int64_t j, std::int64_t expert) const {
    return (run * static_cast<std::size_t>(k) + static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(experts) +
           static_cast<std::size_t>(expert);
  }
};

/// Calls f(run, j, choice) of each of this worker's choices, choice a reference.
template <typename Function>
void each_choice(const TokenRuns& tokens, Choices& choices, const Function& f) {
  const auto& runs = tokens.runs[tokens.me];
  for (std::size_t run = 0; run < runs.size(); ++run) {
    auto* choice = choices.experts.data() + runs[run].local * choices.k;
    for (std::int64_t token = 0; token < runs[run].count; ++token)
      for (std::int64_t j = 0; j < choices.k; ++j, ++choice)
        if (*choice >= 0) f(run, j, *choice);
  }
}

/// Of all workers in a simulation: `choices_of` spreads their choices evenly over the experts.
RowCounts simulated_counts(const TokenRuns& tokens, const Table& table) {
  RowCounts all;
  for (const auto& runs : tokens.runs) {
    all.emplace_back(table.numbers.size(), 0);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const std::int64_t begin = runs[run].local * table.k, end = begin + runs[run].count * table.k;
      for (std::int64_t i = begin; i < end; ++i) ++all.back()[table.at(run, i % table.k, i % table.experts)];
    }
  }
  return all;
}

/// A space in which all workers have all of x.
Space of_all(Space X, const TokenRuns& tokens) {
  for (const std::string& axis : tokens.axes) X = X.replicated(axis);
  return X;
}

}  // namespace

RowCounts drop_by_position(const Partition& partition, const TokenRuns& tokens, std::int64_t experts,
                           std::int64_t capacity, Choices& choices) {
  Table room(tokens.most(), choices.k, experts);  // at first all of this worker's choices
  each_choice(tokens, choices,
              [&](std::size_t run, std::int64_t j, std::int64_t e) { ++room.numbers[room.at(run, j, e)]; });
  RowCounts all =
      tokens.axes.empty() ? RowCounts{room.numbers} : all_row_counts(partition, tokens.axes, room.numbers);
  if (Simulation::running()) all = simulated_counts(tokens, room);
  RowCounts kept(all.size(), Counts(static_cast<std::size_t>(experts), 0));
  Counts before(static_cast<std::size_t>(experts), 0);
  const std::vector<PlacedRun> placed = in_order(tokens);
  for (std::int64_t j = 0; j < choices.k; ++j) {
    for (const PlacedRun& run : placed) {
      for (std::int64_t expert = 0; expert < experts; ++expert) {
        const auto e = static_cast<std::size_t>(expert);
        const std::size_t here = room.at(run.number, j, expert);
        const std::int64_t count = all[run.worker][here];
        const std::int64_t keep = std::clamp<std::int64_t>(capacity - before[e], 0, count);
        before[e] += count;
        kept[run.worker][e] += keep;
        if (run.worker == tokens.me) room.numbers[here] = keep;
      }
    }
  }
  each_choice(tokens, choices, [&](std::size_t run, std::int64_t j, std::int64_t& expert) {
    if (room.numbers[room.at(run, j, expert)]-- <= 0) expert = -1;
  });
  return kept;
}

RowCounts drop_by_probability(const TokenRuns& tokens, std::int64_t experts, std::int64_t capacity,
                              const Vector& scores, Choices& choices) {
  const Vector mine(
      scores.space(),
      at::tensor(choices.experts, at::kLong).view(scores.local().sizes()).to(scores.local().device()));
  const Space all = of_all(scores.space(), tokens);
  Choices chosen = choices_of(to_space(mine, all).local(), experts);
  const std::vector<double> score = host_values<double>(to_space(scores, all).local().to(at::kDouble), 0);
  std::vector<std::vector<std::size_t>> candidates(static_cast<std::size_t>(experts));
  for (std::size_t i = 0; i < chosen.experts.size(); ++i)
    if (chosen.experts[i] >= 0) candidates[static_cast<std::size_t>(chosen.experts[i])].push_back(i);
  for (std::vector<std::size_t>& of_expert : candidates) {
    std::stable_sort(of_expert.begin(), of_expert.end(),
                     [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
    for (std::size_t i = static_cast<std::size_t>(capacity); i < of_expert.size(); ++i)
      chosen.experts[of_expert[i]] = -1;
  }
  RowCounts kept;
  for (std::size_t worker = 0; worker < tokens.runs.size(); ++worker) {
    Choices theirs{{}, choices.k};
    for (const TokenRuns::Run& run : tokens.runs[worker])
      theirs.experts.insert(theirs.experts.end(), chosen.experts.begin() + run.first * choices.k,
                            chosen.experts.begin() + (run.first + run.count) * choices.k);
    kept.push_back(theirs.counts(experts));
    if (worker == tokens.me) choices = std::move(theirs);
  }
  return kept;
}

}  // namespace riesz::detail
