// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/task.h"

#include "riesz/comm/error.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/data/image_task.h"
#include "riesz/train/data/token_task.h"

namespace riesz {

Batch Batch::part(const Interval& of) const {
  return {inputs.narrow(0, of.begin, of.size()), targets.narrow(0, of.begin, of.size())};
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
  return std::make_unique<TokenTask>(config);
}

}  // namespace riesz
