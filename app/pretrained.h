// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A trained model: a folder with config.json and safetensors, as Hugging Face's or a checkpoint's. Local.
#pragma once

#include <filesystem>
#include <string>

#include "riesz/models/causal_model.h"
#include "riesz/train/config.h"

namespace riesz::app {

struct Pretrained {
  std::filesystem::path folder;
  std::string config_json;  ///< the file's text
  models::CausalConfig config;
};

/// The model of a folder, or of a name in Hugging Face's cache (`model_folder`). Reads no weights.
/// @throws Error naming the folder: where there is no such model; as its config.json's reader does.
Pretrained read_pretrained(const std::string& folder_or_name);

/// Sets the model's weights to those of the folder, which may be of any floating type. Every worker calls it,
/// and reads its own part.
/// @throws Error naming all tensors that are missing, extra or misshapen.
void load_pretrained(const Pretrained& from, models::CausalModel& model);

/// What model.dropout says of a model: the residual dropout of a GPT-2 or GPT-J; 0 of a Llama, which has no
/// such key.
double dropout_of(const models::CausalConfig& config);

/// The configuration with the sizes of the model that config.model.from names, if it names one, as if its
/// keys had been given. A key that is given must say the same; only model.dropout may say another value.
/// @throws Error naming the key, both values and the remedy; or a key that the model's kind does not read.
Config with_model_from(Config config);

/// @throws Error, naming both, unless a task of so many tokens, and the tokenizer of data.tokens, go with the
/// model that config.model.from names, if it names one.
void check_tokens(const Config& config, std::int64_t vocabulary);

}  // namespace riesz::app
