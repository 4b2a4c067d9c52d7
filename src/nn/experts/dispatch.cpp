// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/dispatch.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/simulation.h"
#include "riesz/nn/experts/select_rows.h"

namespace riesz {
namespace {

using Counts = std::vector<std::int64_t>;

/// The counts by part: each part of an expert gets all of the expert's rows.
Counts by_part(const ExpertParts& experts, const Counts& by_expert) {
  Counts counts;
  counts.reserve(experts.parts().size());
  for (const ExpertParts::Part& part : experts.parts())
    counts.push_back(by_expert[static_cast<std::size_t>(part.expert)]);
  return counts;
}

/// The rows that a worker sends, sorted by part.
struct Sorted {
  Counts tokens;   // by row
  Counts choices;  // by row: token·k + number of the choice
  Counts order;    // the rows by token, then choice, then part
};

Sorted sorted(const ExpertParts& experts, const Choices& choices, const Counts& counts) {
  Counts next(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::int64_t{0});
  const auto rows = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  Sorted all{Counts(rows), Counts(rows), {}};
  all.order.reserve(rows);
  std::vector<Interval> parts;
  for (std::int64_t expert = 0; expert < experts.experts(); ++expert)
    parts.push_back(experts.parts_of(expert));
  std::size_t choice = 0;
  for (std::int64_t token = 0; token < choices.tokens(); ++token) {
    for (std::int64_t j = 0; j < choices.k; ++j, ++choice) {
      const std::int64_t expert = choices.experts[choice];
      if (expert < 0) continue;
      const Interval of = parts[static_cast<std::size_t>(expert)];
      for (std::int64_t part = of.begin; part < of.end; ++part) {
        const std::int64_t row = next[static_cast<std::size_t>(part)]++;
        all.tokens[static_cast<std::size_t>(row)] = token;
        all.choices[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(choice);
        all.order.push_back(row);
      }
    }
  }
  return all;
}

void check(const Space& X, const ExpertParts& experts, const Choices& choices) {
  RIESZ_CHECK(choices.k >= 1 && static_cast<std::int64_t>(choices.experts.size()) % choices.k == 0,
              "dispatch: ", choices.experts.size(), " choices are no multiple of k = ", choices.k);
  RIESZ_CHECK(X.dims() > 0 && X.concrete() && choices.tokens() == X.local_shape().front(),
              "dispatch: the choices are of ", choices.tokens(),
              " tokens, and this worker's tokens are in\n  ", to_string(X), "\ngive k choices for each");
  for (const std::int64_t expert : choices.experts)
    RIESZ_CHECK(expert < experts.experts(), "dispatch: a token chose expert ", expert, "; there are ",
                experts.experts(), ", from 0 on");
}

/// X with other rows on each worker of the axis.
Space with_rows(const Space& X, const std::string& axis, const Counts& rows) {
  std::vector<std::int64_t> shape = X.shape();
  shape.front() = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  return X.replicated(axis).with_shape(shape).sharded(0, axis, Split::sizes(rows));
}

/// The numbers of X's rows that each worker of the axis has.
Counts rows_of(const Space& X, const std::string& axis) {
  const int a = X.partition().index(axis);
  std::vector<int> there = X.partition().coordinates(X.partition().rank());
  Counts rows;
  for (int worker = 0; worker < X.partition().extent(axis); ++worker) {
    there[static_cast<std::size_t>(a)] = worker;
    rows.push_back(total(X.held(0, there)));
  }
  return rows;
}

/// The choices of so many tokens in a simulation.
Choices spread_evenly(std::int64_t tokens, std::int64_t k, std::int64_t experts) {
  Choices choices{Counts(static_cast<std::size_t>(tokens * k)), k};
  for (std::size_t i = 0; i < choices.experts.size(); ++i)
    choices.experts[i] = static_cast<std::int64_t>(i) % experts;
  return choices;
}

/// Their counts, of workers with so many tokens each.
RowCounts spread_evenly(const Counts& tokens, std::int64_t k, std::int64_t experts) {
  RowCounts all;
  for (const std::int64_t of_worker : tokens)
    all.push_back(spread_evenly(of_worker, k, experts).counts(experts));
  return all;
}

/// One number for each choice, on the grid of X.
Space of_choices(const Space& X, const std::string& axis, std::int64_t k) {
  Counts rows = rows_of(X, axis);
  for (std::int64_t& each : rows) each *= k;
  Space numbers(X.partition(), {std::accumulate(rows.begin(), rows.end(), std::int64_t{0})});
  for (const Axis& other : X.partition().axes())
    if (X.dim_of(X.partition().index(other.name)) < 0)
      numbers = numbers.placed(other.name, X.placement(other.name));
  return numbers.sharded(0, axis, Split::sizes(rows));
}

Operator selected_and_routed(const Space& X, const std::string& axis, const ExpertParts& experts,
                             detail::SelectedRows selected, const RowCounts& counts, Counts* rows) {
  Counts sent;
  for (const Counts& theirs : counts)
    sent.push_back(std::accumulate(theirs.begin(), theirs.end(), std::int64_t{0}));
  const Space S = with_rows(X, axis, sent);
  RoutedRows routed = route_known_rows(S, axis, experts.split(), counts);
  std::vector<Step> steps{detail::select_rows(X, S, axis, std::move(selected))};
  for (const Step& step : routed.dispatch.steps()) steps.push_back(step);
  if (rows != nullptr) *rows = std::move(routed.rows);
  return {X, routed.dispatch.range(), std::move(steps)};
}

}  // namespace

std::vector<std::int64_t> Choices::counts(std::int64_t number) const {
  std::vector<std::int64_t> all(static_cast<std::size_t>(number), 0);
  for (const std::int64_t expert : experts)
    if (expert >= 0) ++all.at(static_cast<std::size_t>(expert));
  return all;
}

Choices choices_of(const at::Tensor& chosen, std::int64_t experts) {
  Choices choices{host_values<std::int64_t>(chosen.to(at::kLong), 0), chosen.size(-1)};
  if (Simulation::running()) choices = spread_evenly(choices.tokens(), choices.k, experts);
  return choices;
}

Dispatch dispatch(const Space& X, const std::string& axis, const ExpertParts& experts, const Choices& choices,
                  at::Device device) {
  if (!X.partition().active()) return {Operator::identity(X), Operator::identity(X), {}};
  check(X, experts, choices);
  RowCounts counts = all_row_counts(X.partition(), {axis}, choices.counts(experts.experts()));
  if (Simulation::running()) counts = spread_evenly(rows_of(X, axis), choices.k, experts.experts());
  return dispatch(X, axis, experts, choices, counts, device);
}

Dispatch dispatch(const Space& X, const std::string& axis, const ExpertParts& experts, const Choices& choices,
                  const RowCounts& counts, at::Device device) {
  if (!X.partition().active()) return {Operator::identity(X), Operator::identity(X), {}};
  check(X, experts, choices);
  RowCounts of_parts;
  for (const Counts& theirs : counts) {
    RIESZ_CHECK(static_cast<std::int64_t>(theirs.size()) == experts.experts(), "dispatch: ", theirs.size(),
                " counts of a worker's choices for ", experts.experts(), " experts; give one for each");
    of_parts.push_back(by_part(experts, theirs));
  }
  const auto me =
      static_cast<std::size_t>(X.partition().coordinate(X.partition().rank(), X.partition().index(axis)));
  RIESZ_CHECK(me < counts.size() && counts[me] == choices.counts(experts.experts()),
              "dispatch: the counts given are not those of this worker's choices");
  const Sorted all = sorted(experts, choices, of_parts[me]);
  const std::int64_t n = choices.tokens();
  Counts rows;
  Operator tokens = selected_and_routed(
      X, axis, experts, detail::selected_rows(n, all.tokens, all.order, device), of_parts, &rows);
  Operator gate_values = selected_and_routed(
      of_choices(X, axis, choices.k), axis, experts,
      detail::selected_rows(n * choices.k, all.choices, all.order, device), of_parts, nullptr);
  return {std::move(tokens), std::move(gate_values), std::move(rows)};
}

}  // namespace riesz
