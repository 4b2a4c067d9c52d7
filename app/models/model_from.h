// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/train/config/config.h"

namespace riesz::app {

/// The configuration with the sizes of the model that config.model.from names, if any, as if the keys said
/// them. For a model of images it also has the labels, unless model.new_head is set, and the values of data.*
/// from preprocessor_config.json, if there is one. A key that is set must say the same. Only those of how it
/// is trained may differ: model.dropout, model.balance_weight, model.z_weight and model.capacity_factor. With
/// model.upcycle the keys say the experts. Local; reads no weights.
/// @throws Error naming the key, both values and the remedy where they differ. Also naming a key that the
/// model's kind does not read; and as `read_pretrained`, `read_preprocessing` and `models::label_names`.
Config with_model_from(Config config);

/// @throws Error naming both, unless the task's vocabulary and the tokenizer of data.tokens fit the model
/// that config.model.from names, if any.
void check_tokens(const Config& config, std::int64_t vocabulary);

}  // namespace riesz::app
