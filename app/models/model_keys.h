// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/models/model_config.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The sizes that the keys give for a model of text or of images, without the vocabulary or the labels, which
/// are the task's. Local.
models::CausalConfig text_shape(const Config::Model& keys);
models::VitConfig image_shape(const Config::Model& keys);

/// The inverse: the keys that say a model's sizes, in full; all but its dropout. Sizes without a key are left
/// out.
Config::Model keys_of(const models::ModelConfig& shape);

/// The keys, with each 0 replaced by the size that it stands for.
Config::Model sizes_in_full(Config::Model keys);

/// Sets all dropouts of the model to that of the key model.dropout. A Llama and a Mixtral have none.
void set_dropout(models::CausalConfig& shape, double p);
void set_dropout(models::VitConfig& shape, double p);

/// The inverse, for equal dropouts: the residual dropout of a GPT-2 or GPT-J, that of a ViT's branches; 0 for
/// a Llama or a Mixtral.
double dropout_of(const models::ModelConfig& shape);

}  // namespace riesz::app
