// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "riesz/models/model_config.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The files beside a trained model's weights, by name, so that Hugging Face's libraries and model.from load
/// the folder as it is. All have config.json. A model of tokens also has the tokenizer's files, those of
/// model.from or else of data.tokens, and generation_config.json, with the tokens by which a text begins and
/// ends. A ViT has preprocessor_config.json, that of model.from or else of the data.* keys. `label_names`, of
/// a ViT, are those that its config.json gives its labels. Local.
std::map<std::string, std::string> published_files(const Config& config, const models::ModelConfig& shape,
                                                   const std::vector<std::string>& label_names = {});

}  // namespace riesz::app
