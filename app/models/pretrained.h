// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A trained model: a folder with config.json and safetensors, as Hugging Face's or a checkpoint's. Local.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "riesz/io/images/preprocessing.h"
#include "riesz/models/model_config.h"
#include "riesz/nn/module.h"

namespace riesz::app {

/// The file of a folder that says how images are preprocessed.
inline constexpr const char* kPreprocessor = "preprocessor_config.json";

/// A trained model's folder, with the contents of its config.json.
struct Pretrained {
  std::filesystem::path folder;
  std::string config_json;  ///< the file's text
  models::ModelConfig config;
};

/// The sizes of a model of text.
/// @throws Error naming the folder where it sees images.
const models::CausalConfig& text_config(const Pretrained& from);
/// The sizes of a model of images.
/// @throws Error naming the folder where its model is of text.
const models::ImageConfig& image_config(const Pretrained& from);

/// The checkpoint with a training's model, of the folder of a training (`model_checkpoint_in`); any other
/// path as it is.
std::filesystem::path weights_of(const std::filesystem::path& path);

/// Have all ranks taken the same checkpoint? They look at different times, and a training may be saving.
/// Collective over the job. @throws Error on all ranks, naming the first that differs.
void check_taken_alike(const std::filesystem::path& taken);

/// A line that says which checkpoint of a training's folder that is; "" of any other path.
std::string taken_text(const std::filesystem::path& path);

/// The model of a folder, of a training's folder (`weights_of`), or of a name in Hugging Face's cache
/// (`model_folder`). Reads no weights.
/// @throws Error naming the folder: where there is no such model; as its config.json's reader does.
Pretrained read_pretrained(const std::string& folder_or_name);

/// Sets the model's weights to those of the folder, which may be of any floating type. Every worker calls it,
/// and reads its own part.
/// @throws Error naming all tensors that are missing, extra or misshapen.
void load_pretrained(const Pretrained& from, models::CausalModel& model);
/// The same for a model of images. With a new head the model's classifier stays as it was drawn, and the
/// folder's is not read. @throws Error also where the folder has no classifier, unless `new_head`.
void load_pretrained(const Pretrained& from, const Module& of_images, bool new_head);
/// Sets those of the model with experts that the folder's becomes (`models::upcycled`). Routers stay as they
/// were drawn. @throws Error likewise.
void load_upcycled(const Pretrained& from, models::CausalModel& model);

/// `models::label_names` of the folder. @throws Error likewise, naming its config.json.
std::vector<std::string> label_names(const Pretrained& from);

/// Reads the folder's preprocessor_config.json; nothing where it has none.
/// @throws Error naming the file, as `preprocessing_of`, and where it makes images of another size than the
/// model's. Also naming the folder, where its model is of text.
std::optional<Preprocessing> read_preprocessing(const Pretrained& from);

}  // namespace riesz::app
