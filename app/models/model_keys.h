// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "riesz/models/model_config.h"
#include "riesz/models/upcycle.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The sizes that the keys give for a model of text or of images, without the vocabulary or the labels, which
/// are the task's. Local.
models::CausalConfig text_shape(const Config::Model& keys);
models::ImageConfig image_shape(const Config::Model& keys);

/// The inverse: the keys that say a model's sizes, in full; all but its dropout. Sizes without a key are left
/// out.
Config::Model keys_of(const models::ModelConfig& shape);

/// The keys, with each 0 replaced by the size that it stands for.
Config::Model sizes_in_full(Config::Model keys);

/// Sets the rows and columns of an image or a field. A ViT keeps its own: a weight of it has their number.
void set_image_size(models::ImageConfig& shape, std::int64_t size);

/// Sets all dropouts of the model to that of the key model.dropout. A Llama and a Mixtral have none; of
/// models of images only a ViT has some.
void set_dropout(models::CausalConfig& shape, double p);
void set_dropout(models::ImageConfig& shape, double p);

/// The inverse, for equal dropouts: the residual dropout of a GPT-2 or GPT-J, that of a ViT's branches; 0 for
/// a Llama, a Mixtral or a ResNet.
double dropout_of(const models::ModelConfig& shape);

/// Of a key's name: is it said?
using SaidKeys = std::function<bool(const std::string& key)>;

/// Sets how a model with experts is trained, as far as the keys say it: the weights of its losses, and its
/// capacity. A model.balance_weight of 0 turns that loss off. Other models have none of these.
void set_training_of_experts(models::CausalConfig& shape, const Config::Model& keys, const SaidKeys& said);

/// What the keys say of the experts of a model that is upcycled.
models::UpcycledSizes upcycled_sizes(const Config::Model& keys);

}  // namespace riesz::app
