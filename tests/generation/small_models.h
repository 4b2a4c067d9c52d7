// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Models of every kind in sizes that nothing divides, and the layouts that they are tried at.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/models/text_model.h"

namespace riesz::testing {

inline std::vector<models::CausalConfig> small_configs() {
  models::LlamaConfig llama{.layers = 3, .heads = 6, .key_value_heads = 3, .width = 18, .head_width = 4};
  llama.hidden = 22, llama.vocabulary = 97, llama.context = 12, llama.rotary_base = 100;
  return {models::MinGptConfig{
              .layers = 3, .heads = 3, .width = 15, .vocabulary = 97, .context = 12, .dropout = 0.5},
          models::GptJConfig{.layers = 3,
                             .heads = 3,
                             .width = 18,
                             .hidden = 22,
                             .vocabulary = 97,
                             .context = 12,
                             .rotary_dims = 4},
          llama};
}

inline Partition alone() { return Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}}); }

/// In stages: the first ranks' and the last ones' blocks.
inline riesz::Layout in_stages(const models::CausalConfig& config, int stages) {
  const Partition grid = Partition::world().grid({{"pp", stages}, {"tp", Runtime::size() / stages}});
  std::vector<riesz::Layout> layouts;
  for (int stage = 0; stage < stages; ++stage) layouts.push_back(spaces::one_d(grid.at("pp", stage)));
  const bool llama = models::kind_of(config) == "llama";
  std::map<std::string, int> stage_of;
  for (int block = 0; block < 3; ++block)
    stage_of[(llama ? "model.layers." : "transformer.h.") + std::to_string(block)] =
        std::min(block, stages - 1);
  for (const char* last : {"lm_head", llama ? "model.norm" : "transformer.ln_f"}) stage_of[last] = stages - 1;
  return spaces::placed(layouts, stage_of);
}

inline std::vector<riesz::Layout> small_layouts(const models::CausalConfig& config) {
  using namespace spaces;
  const int p = Runtime::size();
  const auto on = [](std::vector<Axis> axes) { return Partition::world().grid(axes); };
  std::vector<riesz::Layout> all{one_d(on({{"tp", p}})), sequence_parallel(on({{"tp", p}})),
                                 one_d(on({{"dp", p}})), ulysses(on({{"sp", p}}))};
  if (p % 2 == 0) all.push_back(in_stages(config, 2));
  if (p == 3) all.push_back(in_stages(config, 3));
  if (p == 4) all.push_back(two_d(on({{"row", 2}, {"column", 2}})));
  return all;
}

inline std::unique_ptr<models::CausalModel> small_model(const riesz::Layout& layout,
                                                        const models::CausalConfig& config) {
  auto model = models::make_causal_model(layout, config);
  model->module().initialise(7, at::kDouble);
  return model;
}

}  // namespace riesz::testing
