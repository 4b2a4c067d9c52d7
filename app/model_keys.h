// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/models/model_config.h"
#include "riesz/train/config.h"

namespace riesz::app {

/// The sizes that the keys say, of the model of text or of images that they name; all but the vocabulary or
/// the labels, which are the task's. Local.
models::CausalConfig text_shape(const Config::Model& keys);
models::VitConfig image_shape(const Config::Model& keys);

/// Back: what the keys would say of a model, in full; all but its dropout. What they cannot say is left out.
Config::Model keys_of(const models::ModelConfig& shape);

/// The keys with the sizes that a 0 stands for.
Config::Model sizes_in_full(Config::Model keys);

/// model.dropout, in all places that the kind drops in. A Llama has no such key.
void set_dropout(models::CausalConfig& shape, double p);
void set_dropout(models::VitConfig& shape, double p);

/// Back: the residual dropout of a GPT-2 or GPT-J, that of a ViT's branches; 0 for a Llama.
double dropout_of(const models::ModelConfig& shape);

}  // namespace riesz::app
