// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "riesz/models/model_config.h"
#include "riesz/train/config.h"

namespace riesz::app {

/// What lies beside a trained model's weights, by the file's name, so that Hugging Face's libraries and
/// model.from load the folder as it is: config.json; of a model of tokens also the tokenizer's files, those
/// of model.from or else of data.tokens, and generation_config.json, which says how a text begins and ends;
/// of a ViT preprocessor_config.json, that of model.from or else of the data.* keys. `label_names`, of a ViT,
/// are those that its config.json gives its labels. Local.
std::map<std::string, std::string> published_files(const Config& config, const models::ModelConfig& shape,
                                                   const std::vector<std::string>& label_names = {});

}  // namespace riesz::app
