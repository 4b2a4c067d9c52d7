// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/models/image_model.h"
#include "riesz/train/loop/learner.h"

namespace riesz::app {

/// A model that is kept alive together with the learner that refers to it.
struct HeldModel {
  std::shared_ptr<const void> model;
  Learner learner;

  const Module& module() const { return learner.module; }
};

/// A model of images or fields of these sizes without weights, placed on these workers by the layout. Its
/// learner takes `normalised` images, and casts them to this type. Local.
HeldModel make_image_model(const models::ImageConfig& shape, at::ScalarType type, const Layout& layout,
                           const Partition& workers);

/// @throws Error naming keys where the model cannot be divided into the configuration's stages. Local; makes
/// no weights.
void check_stages(const Config& config);

/// Makes the configuration's model on this job's workers, with drawn weights. Its learner's `load` reads
/// those of config.model.from, if that names a model. Every worker calls it. Local, unless the stages depend
/// on measured time (`measures_time`). Then it first trains on some micro-batches of `task`, in stages by
/// count, collective over the job.
/// @throws Error where model.from and the task's tokens do not fit (`check_tokens`), or as `check_stages`.
HeldModel make_model(const Config& config, const Task& task);

}  // namespace riesz::app
