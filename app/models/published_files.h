// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "riesz/models/model_config.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The files beside a trained model's weights, by name, so that Hugging Face's libraries and model.from can
/// load the folder. All models have config.json. A model of tokens also has the tokenizer's files, those of
/// model.from or else of data.tokens, and generation_config.json, with the tokens that begin and end a text.
/// A model of images has preprocessor_config.json, that of model.from or else by the data.* keys.
/// `label_names` are its labels for config.json. Local.
std::map<std::string, std::string> published_files(const Config& config, const models::ModelConfig& shape,
                                                   const std::vector<std::string>& label_names = {});

}  // namespace riesz::app
