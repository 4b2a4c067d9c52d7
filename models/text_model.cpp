// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/text_model.h"

namespace riesz::models {

TextModel text_model(CausalModel& model) {
  const CausalConfig& config = model.config();
  return {.module = model.module(),
          .tokens = model.tokens(),
          .targets = model.targets(),
          .context = context_of(config),
          .vocabulary = vocabulary_of(config),
          .logits = [&model](const Vector& ids) { return model.logits(ids); },
          .next = [&model](const Vector& ids, ModelCache& cache) { return model.next(ids, cache); }};
}

}  // namespace riesz::models
