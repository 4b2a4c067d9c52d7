// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/memory/tiles_memory.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "riesz/app/jobs/explain.h"
#include "riesz/app/models/model.h"
#include "riesz/app/models/scalar_type.h"
#include "riesz/comm/memory_record.h"
#include "riesz/comm/simulation.h"
#include "riesz/comm/without_values.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/loop/predict_tiles.h"

namespace riesz::app {
namespace {

/// One call, by a worker of the job.
double memory_of_rank(const Config& config, const Tiling& tiling, std::int64_t at_once, int rank) {
  const Simulation job(rank, workers_of(config));
  const WithoutValues nothing_computed;
  const MemoryRecord record;
  const Partition workers = Partition::world().grid(job_axes(config.layout));
  const at::ScalarType type = scalar_type(config.precision);
  const HeldModel model = make_image_model(tiling.model, type, layout_on(config.layout, workers), workers);
  model.learner.module.initialise(0, type);
  const std::vector<Tile> all = tiles_of(at_once, tiling.height, tiling.width);
  const std::vector<Tile> some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at_once));
  const auto read = [](const Box& box) {
    return at::empty({box[0].size(), box[1].size(), box[2].size(), box[3].size()}, at::kFloat);
  };
  predict_tiles(model.learner, some, at_once, read, [](const PredictedTile&) {});
  return static_cast<double>(record.peak());
}

}  // namespace

double memory_of_tiles(const Config& config, const Tiling& tiling, std::int64_t at_once) {
  constexpr int kMost = 64;  // ranks that are run: others hold no more than some of these
  double most = 0;
  for (int rank = 0; rank < std::min(kMost, workers_of(config)); ++rank)
    most = std::max(most, memory_of_rank(config, tiling, at_once, rank));
  return most;
}

}  // namespace riesz::app
