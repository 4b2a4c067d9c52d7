// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/text_model.h"

namespace riesz::models {

TextModel text_model(CausalModel& model) {
  const CausalConfig& config = model.config();
  return {.module = model.module(),
          .tokens = model.tokens(),
          .targets = model.targets(),
          .blocks = blocks_of(config),
          .context = context_of(config),
          .vocabulary = vocabulary_of(config),
          .logits = [&model](const Vector& ids) { return model.logits(ids); },
          .next = [&model](const Vector& ids,
                           std::vector<KeyValueCache>& caches) { return model.next(ids, caches); }};
}

}  // namespace riesz::models
