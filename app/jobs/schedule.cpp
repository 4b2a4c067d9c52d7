// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/table_text.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/scale.h"
#include "riesz/pipeline/schedule/chrome_trace.h"
#include "riesz/pipeline/schedule/csv.h"
#include "riesz/pipeline/schedule/draw.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/pipeline/schedule/picture.h"
#include "riesz/pipeline/schedule/simulate.h"
#include "riesz/pipeline/schedule/verify.h"

namespace riesz::app {
namespace {

Costs read_costs(const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more;) {
    const auto [after, error] = std::from_chars(at, end, numbers.emplace_back());
    more = error == std::errc() && after != end && *after == ',';
    at = more ? after + 1 : after;
  }
  const bool good =
      at == end && (numbers.size() == 3 || numbers.size() == 4) &&
      std::all_of(numbers.begin(), numbers.end(), [](double n) { return n >= 0 && std::isfinite(n); });
  RIESZ_CHECK(
      good, "--costs is ", in_quotes(text),
      "; it must be three or four numbers of 0 or more, such as 1,1,1,0.2: forward, backward of inputs, of "
      "weights, and sending");
  return {.chunks = {{numbers[0], numbers[1], numbers[2], numbers[0]}},
          .send = numbers.size() == 4 ? numbers[3] : 0};
}

bool is_file(const std::string& what) { return what.ends_with(".csv"); }

Schedule table_of(const ScheduleRequest& request) {
  Schedule table = is_file(request.what) ? from_csv(bytes_of_file(request.what), in_quotes(request.what))
                                         : make_schedule(request.what, request.options);
  verify(table, {.capacity = request.capacity.value_or(std::numeric_limits<int>::max())});
  return request.forward_only ? forward_only(table) : table;
}

std::string percent(double share) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * std::max(share, 0.0));
  return text.data();
}

/// A line for each worker, below a line of heads.
using Rows = std::vector<std::vector<std::string>>;

template <typename Number>
void add_column(Rows& rows, const char* head, const std::vector<Number>& of_workers) {
  rows.front().emplace_back(head);
  for (std::size_t worker = 0; worker < of_workers.size(); ++worker)
    rows[worker + 1].push_back(tick_text(static_cast<double>(of_workers[worker])));
}

std::string workers_text(const Timeline& timeline, const UnderWay& most) {
  Rows rows{{""}};
  std::vector<double> busy;
  for (std::size_t worker = 0; worker < timeline.rows.size(); ++worker) {
    rows.push_back({concat("worker ", worker)});
    double& sum = busy.emplace_back();
    for (const Timed& timed : timeline.rows[worker]) sum += timed.end - timed.start;
  }
  add_column(rows, "busy", busy);
  add_column(rows, "waits", waiting(timeline));
  add_column(rows, "activations", most.activations);
  const auto any_above = [](const std::vector<int>& numbers, int n) {
    return *std::max_element(numbers.begin(), numbers.end()) > n;
  };
  if (any_above(most.inputs, 0)) add_column(rows, "inputs", most.inputs);
  if (any_above(most.versions, 1)) add_column(rows, "versions", most.versions);
  return table_text(rows, "lr");
}

std::string json_text(const Schedule& table, const Timeline& timeline) {
  using Json = nlohmann::ordered_json;
  const UnderWay most = under_way(table);
  const std::vector<double> waits = waiting(timeline);
  Json json = {{"workers", table.workers()},           {"chunks", table.chunks()},
               {"micro_batches", table.micro_batches}, {"span", span(timeline)},
               {"bubble", bubble(timeline)},           {"messages", messages(table)},
               {"of_workers", Json::array()}};
  for (std::size_t worker = 0; worker < timeline.rows.size(); ++worker) {
    Json row = {{"waits", waits[worker]},
                {"activations", most.activations[worker]},
                {"inputs", most.inputs[worker]},
                {"versions", most.versions[worker]},
                {"actions", Json::array()}};
    for (const Timed& timed : timeline.rows[worker])
      row["actions"].push_back(
          {{"action", to_string(timed.action)}, {"start", timed.start}, {"end", timed.end}});
    json["of_workers"].push_back(row);
  }
  return json.dump(2) + "\n";
}

}  // namespace

void check_schedule(ScheduleRequest request) {
  request.options.costs = read_costs(request.costs);
  if (!is_file(request.what)) table_of(request);
}

std::string schedule_report(ScheduleRequest request, Form form) {
  const Costs costs = read_costs(request.costs);
  request.options.costs = costs;
  const Schedule table = table_of(request);
  const Timeline timeline = simulate(table, costs);
  const std::string sums = concat("span ", tick_text(span(timeline)), ", bubble ", percent(bubble(timeline)));
  if (!request.csv.empty()) write_file(request.csv, to_csv(table));
  if (!request.trace.empty()) write_file(request.trace, chrome_trace(timeline));
  if (!request.svg.empty()) {
    write_file(request.svg, svg(timeline, concat(request.what, ": ", table.workers(), " workers, ",
                                                 table.micro_batches, " micro-batches; ", sums)));
  }
  if (form == Form::json) return json_text(table, timeline);
  return concat(draw(table), sums, ", ", messages(table), " messages between workers\n",
                workers_text(timeline, under_way(table)));
}

}  // namespace riesz::app
