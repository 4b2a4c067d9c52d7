// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/stage_text.h"

#include <c10/util/accumulate.h>

#include <cstdio>
#include <sstream>

#include "riesz/comm/error.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/pipeline/schedule/draw.h"
#include "riesz/pipeline/schedule/simulate.h"
#include "riesz/pipeline/schedule/under_way.h"
#include "riesz/train/config/number_text.h"
#include "riesz/train/config/placement.h"

namespace riesz::app {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Of those that this worker is in.
std::vector<int> own_stages(const Module& model) {
  std::vector<int> own;
  for (int stage = 0; stage < model.stages()->size(); ++stage) {
    if (model.stages()->spaces(stage).mesh().active()) own.push_back(stage);
  }
  return own;
}

std::int64_t held_elements(const Module& model) {
  std::int64_t sum = 0;
  for (const Parameter& parameter : model.parameters())
    if (parameter.space().partition().active())
      sum += c10::multiply_integers(parameter.space().local_shape());
  return sum;
}

/// From one stage to another, as operators between partitions say in their text; not to all, as losses go.
bool crosses(const TrafficRecord& record) {
  const std::string& text = record.operation;
  return text.find(") -> (") != std::string::npos && text.find("(union=") == std::string::npos;
}

std::string crossing(const std::vector<TrafficRecord>& sent, Phase phase) {
  Traffic sum;
  for (const TrafficRecord& record : sent) {
    if (crosses(record) && record.origin.phase == phase) sum += record.traffic;
  }
  return concat(to_string(phase), " ", grouped(sum.elements), " elements in ", grouped(sum.messages),
                sum.messages == 1 ? " message" : " messages");
}

}  // namespace

std::string stage_text(const Config& config, const Module& model, const std::vector<TrafficRecord>& sent) {
  if (model.stages() == nullptr) return "";
  const Schedule table = pipeline_schedule(config);
  const std::vector<int> own = own_stages(model);
  const auto worker = static_cast<std::size_t>(table.worker_of[static_cast<std::size_t>(own.front())]);
  const std::vector<std::string> placed = lines_of(model.placement()), drawn = lines_of(draw(table));
  std::string text;
  for (const int stage : own) text += placed[static_cast<std::size_t>(stage)] + "\n";
  text += drawn[worker] + "\n" + drawn.back() + "\n";
  char share[32];
  std::snprintf(share, sizeof share, "%.1f %%", 100 * bubble(simulate(table)));
  const std::int64_t held = held_elements(model);
  text += concat(config.pipeline.schedule, ", ", table.micro_batches, " micro-batches: bubble ", share,
                 " if all passes take as long\n");
  text += concat("it holds ", grouped(held), " elements of parameters, ",
                 grouped(held * (config.precision == "fp32" ? 4 : 2)), " bytes, and at most ",
                 under_way(table).activations[worker], " micro-batches' activations of a stage\n");
  return text + concat("to other stages it sends ", crossing(sent, Phase::forward), ", ",
                       crossing(sent, Phase::backward), "\n");
}

std::string spaces_text(const Module& model) {
  if (model.stages() == nullptr) return model.spaces().describe();
  std::string text;
  for (const int stage : own_stages(model))
    text += concat("stage ", stage, "\n", model.stages()->spaces(stage).describe());
  return text;
}

}  // namespace riesz::app
