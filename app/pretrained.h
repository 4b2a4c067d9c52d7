// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A model that others have trained, or this program: a folder with config.json and safetensors, as Hugging
// Face's. Local.
#pragma once

#include <filesystem>
#include <string>

#include "riesz/models/causal_model.h"
#include "riesz/train/config.h"

namespace riesz::app {

struct Pretrained {
  std::filesystem::path folder;
  std::string config_json;
  models::CausalConfig config;
};

/// Of a folder, or of a name in Hugging Face's cache (`model_folder`). Reads no weights.
/// @throws Error naming the folder: where there is no such model; as its config.json's reader does.
Pretrained read_pretrained(const std::string& folder_or_name);

/// Sets the model's weights to the folder's, of any floating type. Each worker reads its own.
/// @throws Error naming all tensors that are missing, extra or misshapen.
void load_pretrained(const Pretrained& from, models::CausalModel& model);

/// Of a model whose key is one number: GPT-2's and GPT-J's of what is added to the stream, and 0.
double dropout_of(const models::CausalConfig& config);

/// The configuration with the sizes of the model that config.model.from names, if any: as if its keys had
/// been said. What is said may only be the same, but for the dropout.
/// @throws Error naming the key, both values and the remedy; a key that its kind does not read.
Config with_model_from(Config config);

/// That a task of so many tokens, or data.tokens' own tokenizer, goes with the model of config.model.from.
/// @throws Error naming both.
void check_tokens(const Config& config, std::int64_t vocabulary);

}  // namespace riesz::app
