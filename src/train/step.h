// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/optim/adamw.h"
#include "riesz/train/config.h"
#include "riesz/train/language_model.h"

namespace riesz {

/// Steps of training: the mean loss of a batch's targets, backward, clipping, AdamW with a warm-up and half a
/// cosine.
class TrainingStep {
 public:
  /// `model` outlives it.
  TrainingStep(const Config::Train& config, const LanguageModel& model);

  struct Result {
    double loss;           ///< of the batch, before the update
    double gradient_norm;  ///< before clipping
    double learning_rate;
  };

  /// Step number `step`, from 0. The same result on all workers. Collective over the model's workers.
  Result operator()(std::int64_t step, const Batch& batch);

 private:
  Config::Train config_;
  const LanguageModel& model_;
  std::vector<Parameter> parameters_;
  AdamW optimizer_;
};

}  // namespace riesz
