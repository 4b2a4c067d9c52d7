// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What trained models do: texts, and checkpoints.
#include <utility>

#include "../io/shared_folder.h"
#include "../zero/training.h"
#include "cases.h"
#include "riesz/comm/error.h"
#include "riesz/generation/generate.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/models/text_model.h"
#include "riesz/testing/pretend_device.h"
#include "small_models.h"

namespace riesz::testing {
namespace {

using Texts = std::vector<std::vector<TokenId>>;

Texts written(const riesz::Layout& layout, const models::CausalConfig& config, at::Device device) {
  const auto model = models::make_causal_model(layout, config);
  model->module().initialise(7, at::kDouble, device);
  const GenerateOptions options{
      .sampling = {.repetition_penalty = 1.3, .temperature = 0.9, .top_k = 60, .top_p = 0.95},
      .seed = 3,
      .tokens = 5,
      .read_at_once = 3};
  Texts all;
  for (const GeneratedText& each :
       generate(models::text_model(*model), {{5, 1, 33, 2, 96}, {7, 7}, {90, 4, 11, 50, 2}}, options).texts)
    all.push_back(each.tokens);
  return all;
}

/// A small model with ZeRO and its optimizer's state, after a step.
struct Trained {
  Trained(std::uint64_t seed, at::Device device, int stage)
      : model(spaces::one_d(data_parallel()), course.config) {
    model.initialise(seed, at::kFloat, device);
    zero.emplace(model.parameters(), ZeroOptions{.stage = stage, .bucket = 1000, .keep = 100});
    optimizer = some_optimizers()[1].second(zero->store());
    course.device = device;
    accumulate(course, model, &*zero, 0);
    optimizer->step();
    optimizer->zero_gradients();
  }
  void save(const std::filesystem::path& folder) {
    save_checkpoint(folder, Partition::world(),
                    {optimizer->state(), published_shapes(model.parameters()), {}});
  }
  void load(const std::filesystem::path& folder) {
    load_checkpoint(folder, Partition::world(), optimizer->state(), published_shapes(model.parameters()));
    optimizer->loaded();
  }

  Course course;
  models::MinGpt model;
  std::optional<Zero> zero;
  std::unique_ptr<Optimizer> optimizer;
};

/// Written from there, and read there and here: what is written again has the same bytes.
Outcome goes_round(int stage) {
  const SharedFolder folder;
  Trained(7, pretend_device(), stage).save(folder.path() / "first");
  for (const at::Device device : {pretend_device(), at::Device(at::kCPU)}) {
    Trained other(8, device, stage);
    other.load(folder.path() / "first");
    other.save(folder.path() / "again");
    if (files_of(folder.path() / "again") != files_of(folder.path() / "first"))
      return {concat("other bytes when it was read to ", device)};
  }
  return {};
}

}  // namespace

std::vector<Case> generation_cases() {
  std::vector<Case> all;
  for (const models::CausalConfig& config : small_configs()) {
    std::vector<riesz::Layout> layouts = small_layouts(config);
    layouts.push_back(spaces::one_d(alone()));
    for (const riesz::Layout& layout : layouts)
      all.push_back(
          {concat("texts of ", models::kind_of(config), " ", layout.name, " on ", to_string(layout.mesh)),
           [=]() -> Outcome {
             const bool same = written(layout, config, pretend_device()) == written(layout, config, at::kCPU);
             return {same ? "" : "other texts"};
           }});
  }
  return all;
}

std::vector<Case> checkpoint_cases() {
  std::vector<Case> all;
  for (const int stage : {0, 1, 2, 3})
    all.push_back({concat("checkpoints of ZeRO ", stage), [stage] { return goes_round(stage); }});
  return all;
}

}  // namespace riesz::testing
