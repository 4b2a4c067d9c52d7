// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/train/config.h"

namespace riesz::app {

/// The configuration with the sizes of the model that config.model.from names, if it names one, as if its
/// keys had been given; of a model of images also its labels, unless model.new_head takes their place, and
/// how it is shown images, where its folder says that. A key that is given must say the same; only
/// model.dropout may say another value.
/// @throws Error naming the key, both values and the remedy; or a key that the model's kind does not read.
Config with_model_from(Config config);

/// @throws Error, naming both, unless a task of so many tokens, and the tokenizer of data.tokens, go with the
/// model that config.model.from names, if it names one.
void check_tokens(const Config& config, std::int64_t vocabulary);

}  // namespace riesz::app
