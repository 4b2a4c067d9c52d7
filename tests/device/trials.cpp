// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trials.h"

#include "riesz/comm/runtime.h"
#include "riesz/testing/pairs.h"

namespace riesz::testing {
namespace {

const std::vector<std::string> kModels{"model.kind=gpt2 model.dropout=0.1", "model.kind=gpt2 model.tied=true",
                                       "model.kind=gptj model.rotary_dims=2",
                                       "model.kind=llama model.key_value_heads=1",
                                       "model.kind=vit model.dropout=0.1"};
const std::vector<std::string> kAgain{"layout.recompute=none", "layout.recompute=blocks",
                                      "layout.recompute=attention"};

std::vector<std::string> stages_of_zero() {
  std::vector<std::string> all;
  for (const char* stage : {"0", "1", "2", "3"}) all.push_back(std::string("layout.zero=") + stage);
  return all;
}

std::vector<std::string> layouts() {
  if (Runtime::size() == 1) return {"layout.tensor=1d"};
  if (Runtime::size() == 4)
    return {"layout.dp=4",
            "layout.dp=2 layout.tp=2",
            "layout.tp=4",
            "layout.tensor=sp layout.tp=4",
            "layout.dp=2 layout.tensor=sp layout.tp=2",
            "layout.tensor=2d grid=dp1.row2.column2",
            "layout.tensor=2d layout.panels=2 grid=dp1.row2.column2",
            "layout.tensor=2.5d grid=dp1.depth2.row2.column1",
            "layout.tensor=3d grid=dp1.a1.b2.c2",
            "layout.sequence=ring grid=sp4",
            "layout.dp=2 layout.sequence=ring layout.sp=2",
            "layout.sequence=ulysses grid=sp4",
            "layout.sequence=ulysses layout.sp=2 layout.tp=2"};
  const std::string n = std::to_string(Runtime::size());
  return {"layout.dp=" + n,
          "layout.tp=" + n,
          "layout.tensor=sp layout.tp=" + n,
          "layout.tensor=2d grid=dp1.row1.column" + n,
          "layout.tensor=2.5d grid=dp1.row1.column1.depth" + n,
          "layout.tensor=3d grid=dp1.a1.b1.c" + n,
          "layout.sequence=ring layout.sp=" + n,
          "layout.sequence=ulysses layout.sp=" + n};
}

std::vector<std::string> grids_of_stages() {
  constexpr const char* kTwo = "layout.pp=2 model.layers=2";
  if (Runtime::size() == 2) return {kTwo};
  const std::string two = kTwo;
  return {two + " layout.dp=2", two + " layout.tp=2", "layout.pp=4 model.layers=5"};
}

std::string joined(const Factors& factors, const Choice& choice) {
  std::string settings;
  for (std::size_t i = 0; i < factors.size(); ++i)
    settings += (i > 0 ? " " : "") + factors[i][static_cast<std::size_t>(choice[i])];
  return settings;
}

std::vector<int> values_of(const Factors& factors) {
  std::vector<int> values;
  for (const auto& factor : factors) values.push_back(static_cast<int>(factor.size()));
  return values;
}

std::vector<Trial> trials_of(const Factors& factors, const std::vector<Choice>& choices) {
  std::vector<Trial> all;
  for (const Choice& choice : choices) all.push_back({joined(factors, choice)});
  return all;
}

std::vector<Choice> choices_of(const Factors& factors) {
  if (factors.empty()) return {};
  return all_choices(values_of(factors), [&](const Choice& choice) {
    const std::string settings = joined(factors, choice);
    const auto has = [&](const char* words) { return settings.find(words) != std::string::npos; };
    return !(has("one_bit_adam") && (has("zero=2") || has("zero=3")));  // it reduces momenta by itself
  });
}

}  // namespace

Factors layout_factors() {
  if (Runtime::size() == 3) return {{kModels[0], kModels[3]}, layouts()};
  return {kModels, layouts(), kAgain};
}

Factors type_factors() {
  const std::string n = std::to_string(Runtime::size());
  std::vector<std::string> some{"layout.dp=" + n};
  if (Runtime::size() > 1) {
    some = {"layout.tp=" + n + " layout.recompute=blocks", "layout.dp=" + n + " layout.zero=3"};
  }
  return {kModels, {"precision=fp32", "precision=bf16"}, some};
}

/// Of a model without biases: a key bias's true gradient is zero, so its sign is that of its rounding.
Factors optimizer_factors() {
  std::vector<std::string> optimizers;
  for (const char* kind : {"adamw", "adam", "sgd", "lamb", "adafactor", "one_bit_adam optimizer.freeze=1"})
    optimizers.push_back(std::string("model.kind=llama optimizer.kind=") + kind);
  const std::string dp = "layout.dp=" + std::to_string(Runtime::size());
  return {optimizers,
          stages_of_zero(),
          {dp, dp + " compute=bf16", dp + " compute=fp16"},
          {"train.micro_batches=1", "train.micro_batches=2"}};
}

Factors pipeline_factors() {
  if (Runtime::size() % 2 != 0) return {};
  std::vector<std::string> schedules{"train.batch=4 train.micro_batches=4 pipeline.schedule=interleaved"};
  for (const char* name : {"gpipe", "one_f_one_b", "varuna", "zb_h1", "zb_h2", "zb_v", "v_half", "v_min"})
    schedules.push_back(std::string("train.batch=4 train.micro_batches=3 pipeline.schedule=") + name);
  return {grids_of_stages(), schedules, stages_of_zero(), kAgain, kModels};
}

std::vector<Trial> all_trials(const Factors& factors) { return trials_of(factors, choices_of(factors)); }

std::vector<Trial> covering_trials(const Factors& factors) {
  return trials_of(factors, covering_pairs(choices_of(factors)));
}

}  // namespace riesz::testing
