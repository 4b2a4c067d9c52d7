// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/train/config/config.h"

namespace riesz::app {

/// The configuration with the sizes of the model that config.model.from names, if it names one, as if the
/// keys said them. A ViT's also has its labels, unless model.new_head is set, and the values of data.* in its
/// preprocessor_config.json, where it has one. A key that is set must say the same; only model.dropout may
/// say another value. Local; reads no weights.
/// @throws Error naming the key, both values and the remedy; naming a key that the model's kind does not
/// read; as `read_pretrained`, `read_preprocessing` and `models::label_names`.
Config with_model_from(Config config);

/// @throws Error, naming both, unless a task of so many tokens, and the tokenizer of data.tokens, go with the
/// model that config.model.from names, if it names one.
void check_tokens(const Config& config, std::int64_t vocabulary);

}  // namespace riesz::app
