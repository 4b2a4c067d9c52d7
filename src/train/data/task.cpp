// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/task.h"

#include <numeric>

#include "riesz/comm/error.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/data/cells_task.h"
#include "riesz/train/data/darcy_task.h"
#include "riesz/train/data/file_tasks.h"
#include "riesz/train/data/image_task.h"
#include "riesz/train/data/token_task.h"

namespace riesz {

Batch Batch::part(const Interval& of) const { return {inputs.part(of), targets.part(of)}; }

std::optional<double> HeldOut::overlap() const {
  if (overlaps.empty()) return std::nullopt;
  return std::accumulate(overlaps.begin(), overlaps.end(), 0.0) / static_cast<double>(overlaps.size());
}

std::string DataUnit::text(std::int64_t rows) const {
  const std::string all = concat(rows, " ", row, "s");
  return row == counted ? all : concat(all, " of ", each, " ", counted, "s");
}

std::int64_t sequence_length(const Config& config) {
  return config.data.length > 0 ? config.data.length : config.model.context;
}

std::unique_ptr<Task> make_task(const Config& config) {
  if (config.data.task == "adder") return std::make_unique<AdderTask>(config);
  if (config.data.task == "images") return std::make_unique<ImageTask>(config);
  if (config.data.task == "cells") return std::make_unique<CellsTask>(config);
  if (config.data.task == "darcy") return std::make_unique<DarcyTask>(config);
  if (config.data.task == "masks") return std::make_unique<MasksTask>(config);
  if (config.data.task == "fields") return std::make_unique<FieldsTask>(config);
  return std::make_unique<TokenTask>(config);
}

}  // namespace riesz
