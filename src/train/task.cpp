// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/task.h"

#include "riesz/train/adder_task.h"
#include "riesz/train/text_task.h"
#include "riesz/train/token_task.h"

namespace riesz {

std::unique_ptr<Task> make_task(const Config& config) {
  if (config.data.task == "adder") return std::make_unique<AdderTask>(config);
  if (config.data.task == "tokens") return std::make_unique<TokenTask>(config);
  return std::make_unique<TextTask>(config);
}

}  // namespace riesz
