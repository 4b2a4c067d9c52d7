// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/explain.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "riesz/app/memory/check_memory.h"
#include "riesz/app/models/model.h"
#include "riesz/app/models/model_from.h"
#include "riesz/app/models/stage_text.h"
#include "riesz/app/verify/class_runs.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/simulation.h"
#include "riesz/comm/table_text.h"
#include "riesz/comm/without_values.h"
#include "riesz/io/escaped.h"
#include "riesz/partition/split.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/number_text.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/loop/step.h"

namespace riesz::app {
namespace {

/// Memory is not touched, but has addresses; a process has twice as many.
constexpr double kAddresses = 0x1p46;

/// As long as this lives, Counters count from nothing and keep records.
class CountedStep {
 public:
  CountedStep() {
    Counters::instance().reset();
    Counters::instance().record(true);
  }
  ~CountedStep() { Counters::instance().record(false); }
  CountedStep(const CountedStep&) = delete;
  CountedStep& operator=(const CountedStep&) = delete;
};

at::Tensor rows_like(const riesz::Rows& one, std::int64_t rows) {
  std::vector<std::int64_t> sizes = one.shape();
  sizes.front() = rows;
  return at::empty(sizes, one.type());
}

/// Of the model's parameters, and of its inputs and targets in every micro-batch.
std::vector<Space> spaces_of_step(const Learner& model, const Config& config, const Batch& batch) {
  std::vector<Space> all;
  for (const Parameter& parameter : model.module.parameters()) all.push_back(parameter.space());
  const Split parts = Split::balanced(batch.rows(), static_cast<int>(micro_batches_of(config)));
  std::set<std::int64_t> sizes;
  for (int i = 0; i < parts.workers(); ++i) sizes.insert(parts[i].size());
  for (const std::int64_t rows : sizes) {
    const Batch part = batch.part({0, rows});
    all.push_back(
        model.inputs.with_shape((model.inputs_of ? model.inputs_of(part.inputs) : part.inputs).shape()));
    all.push_back(model.targets.with_shape(part.targets.shape()));
  }
  return all;
}

/// The shape of its inputs.
std::vector<std::int64_t> largest_micro_batch(const Config& config, const Batch& one) {
  std::vector<std::int64_t> shape = one.inputs.shape();
  const std::int64_t parts = micro_batches_of(config);
  shape.front() = (config.train.batch + parts - 1) / parts;
  return shape;
}

std::string named(const TrafficRecord& record) {
  return record.origin.layer.empty() ? "(model)" : record.origin.layer;
}

/// A bucket of gradients or weights of many layers, which has the name of one (`Bucket`).
bool is_of_bucket(const TrafficRecord& record) {
  return record.operation.find(concat(" of ", record.origin.layer, " over ")) != std::string::npos;
}

using Json = nlohmann::ordered_json;

Json json_of_traffic(const Traffic& traffic) {
  return {{"elements", traffic.elements}, {"bytes", traffic.bytes}, {"messages", traffic.messages}};
}

Json json_of_rows(const ExpertRows& rows) {
  return {{"sent", rows.sent}, {"received", rows.received}, {"computed", rows.computed}};
}

struct Line {
  std::string layer, phase, operation;
  Traffic traffic;
};

std::vector<Line> lines_of(const StepPlan& plan) {
  std::vector<Line> lines;
  for (const TrafficRecord& record : plan.records)
    lines.push_back({named(record), to_string(record.origin.phase), record.operation, record.traffic});
  Traffic all;
  for (const Phase phase : {Phase::forward, Phase::recompute, Phase::backward, Phase::update}) {
    Traffic sum;
    for (const TrafficRecord& record : plan.records) {
      if (record.origin.phase == phase) sum += record.traffic;
    }
    if (sum == Traffic{}) continue;
    lines.push_back({"in all", to_string(phase), "", sum});
    all += sum;
  }
  lines.push_back({"in all", "", "", all});
  return lines;
}

}  // namespace

int workers_of(const Config& config) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  const std::optional<std::int64_t> workers = job_size(config.layout, kMost);
  RIESZ_CHECK(workers, product_of(config.layout), " workers; at most ", kMost, " can be explained");
  return static_cast<int>(*workers);
}

void check_rank(const Config& config, int rank) {
  const int workers = workers_of(config);
  RIESZ_CHECK(rank >= 0 && rank < workers, "there is no rank ", rank, " among ", workers, " workers, ",
              product_of(config.layout));
}

StepPlan explain(const Config& given, int rank, Recorder* recorder) {
  const Config config = with_model_from(given);
  const int workers = workers_of(config);
  check_config(config, workers);
  check_rank(config, rank);
  RIESZ_CHECK(!measures_time(config), value_and_origin(config, "pipeline.partition"),
              " measures time on the job's workers, of which there are none here; write what the job says at "
              "its start as pipeline.names, with pipeline.partition=names, or explain it by count");
  const Simulation job(rank, workers, recorder);
  const Partition mesh = Partition::world().grid(job_axes(config.layout));
  check_memory(config, mesh, 0, 1, kAddresses);
  check_stages(config);
  const auto task = make_task(config);
  const Batch one = task->batch(0, 1);
  const WithoutValues nothing_computed;
  HeldModel model = make_model(config, *task);
  model.learner.load = {};  // what is sent does not depend on it
  TrainingStep step(config, model.learner);
  const Batch batch{rows_like(one.inputs, config.train.batch), rows_like(one.targets, config.train.batch)};
  const CountedStep counted;
  take_region_bytes();
  step(0, batch);
  return {model.module().describe(),
          to_string(model.learner.workers),
          spaces_text(model.module()),
          rank,
          Counters::instance().records(),
          Counters::instance().by_operation(),
          take_region_bytes(),
          recorder == nullptr ? Pieces() : pieces_of(spaces_of_step(model.learner, config, batch), mesh),
          stage_text(config, model.module(), Counters::instance().records()),
          rows_of_experts(model.module(), largest_micro_batch(config, one))};
}

StepPlan of_layer(StepPlan plan, const std::string& path) {
  std::erase_if(plan.records, is_of_bucket);
  const auto inside = [&](const TrafficRecord& record) {
    const std::string& layer = record.origin.layer;
    return named(record) == path || layer.starts_with(path + ".");
  };
  std::string all;
  std::set<std::string> seen;
  for (const TrafficRecord& record : plan.records) {
    if (seen.insert(named(record)).second) all += (all.empty() ? "" : ", ") + named(record);
  }
  std::erase_if(plan.records, [&](const TrafficRecord& record) { return !inside(record); });
  std::erase_if(plan.regions, [&](const RegionBytes& region) {
    return region.region != path && !region.region.starts_with(path + ".");
  });
  std::erase_if(plan.experts, [&](const RowsOfExperts& each) {
    return each.layer != path && !each.layer.starts_with(path + ".");
  });
  plan.stage.clear();
  RIESZ_CHECK(!plan.records.empty(), "no layer ", in_short(path), " sends anything; these do: ", all);
  return plan;
}

std::string to_string(const StepPlan& plan) {
  std::vector<std::vector<std::string>> lines, regions;
  for (const Line& line : lines_of(plan)) {
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, "%13s elements %9s messages",
                  grouped(line.traffic.elements).c_str(), grouped(line.traffic.messages).c_str());
    lines.push_back({line.layer, line.phase, line.operation, numbers});
  }
  for (const RegionBytes& region : plan.regions)
    regions.push_back({region.region, concat("runs again in backward, and keeps ", grouped(region.bytes),
                                             " bytes until then")});
  return concat(plan.model, "\nin one step, rank ", plan.rank, " of ", plan.mesh, " sends\n",
                table_text(lines, "l", "  "), to_string(plan.experts), table_text(regions, "l", "  "),
                plan.stage);
}

std::string to_json(const StepPlan& plan) {
  Json json = {{"model", plan.model}, {"layout", plan.mesh}, {"rank", plan.rank}, {"sends", Json::array()}};
  Traffic all;
  for (const TrafficRecord& record : plan.records) {
    Json line = {{"layer", record.origin.layer},
                 {"phase", to_string(record.origin.phase)},
                 {"operator", record.operation}};
    line.update(json_of_traffic(record.traffic));
    json["sends"].push_back(line);
    all += record.traffic;
  }
  json["in_all"] = json_of_traffic(all);
  json["recomputed"] = Json::array();
  for (const RegionBytes& region : plan.regions)
    json["recomputed"].push_back({{"region", region.region}, {"bytes", region.bytes}});
  for (const RowsOfExperts& each : plan.experts)
    json["rows_of_experts"].push_back({{"layer", each.layer},
                                       {"expected", json_of_rows(each.expected)},
                                       {"most", json_of_rows(each.most)}});
  return json.dump(2) + "\n";
}

std::string explain_all(const Config& config, Form form) {
  const ClassRuns runs(config);
  std::vector<TrafficByOperation> ranks;
  for (int rank = 0; rank < workers_of(config); ++rank) ranks.push_back(runs.operators_of(rank));
  if (form == Form::json) {
    Json json = {{"model", runs.model()}, {"layout", runs.mesh()}, {"ranks", Json::array()}};
    for (const TrafficByOperation& rank : ranks) {
      json["ranks"].push_back(Json::object());
      for (const auto& [name, traffic] : rank) json["ranks"].back()[name] = json_of_traffic(traffic);
    }
    return json.dump(2) + "\n";
  }
  return runs.model() + "\non " + runs.mesh() + " each rank sends in a step\n" + traffic_table(ranks);
}

/// The layer's part. A layer that is not there is known once the model is made, and wrong usage all the same.
static StepPlan of_words(StepPlan whole, const ExplainWords& words) {
  if (words.layer.empty()) return whole;
  try {
    return of_layer(std::move(whole), words.layer);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    leave(2);
  }
}

std::string explain_report(const Config& config, const ExplainWords& words, Form form) {
  if (words.all) return explain_all(config, form);
  const StepPlan plan = of_words(explain(config, words.rank), words);
  if (form == Form::json) return to_json(plan);
  return (words.spaces ? plan.spaces : "") + to_string(plan);
}

}  // namespace riesz::app
