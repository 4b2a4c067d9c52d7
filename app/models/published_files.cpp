// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/published_files.h"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "riesz/app/models/pretrained.h"
#include "riesz/app/models/scalar_type.h"
#include "riesz/io/adder.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/tokenizer/plain_tokenizer.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/io/tokens/token_set.h"
#include "riesz/train/data/folder_source.h"
#include "riesz/train/data/image_task.h"

namespace riesz::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kGeneration = "generation_config.json";
constexpr const char* kChat = "chat_template.jinja";

std::string text_of(const ordered_json& object) { return object.dump(2) + "\n"; }

ordered_json own_config(const models::ModelConfig& shape, std::vector<std::string> names) {
  if (const auto* const of_text = std::get_if<models::CausalConfig>(&shape))
    return ordered_json::parse(models::config_json(*of_text));
  for (std::string& name : names) name = printable(name);  // a folder's name may be no UTF-8
  return ordered_json::parse(models::config_json(std::get<models::ImageConfig>(shape), names));
}

/// The model's own, and what the dense one that it was says of its tokens.
ordered_json upcycled_config(ordered_json own, const ordered_json& dense) {
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (dense.contains(key)) own[key] = dense[key];
  return own;
}

/// As that of model.from, so that nothing is lost which this program does not read; the sizes are the same.
ordered_json config_of(const ordered_json& own, const std::optional<Pretrained>& from, bool upcycled) {
  if (!from) return own;
  ordered_json theirs = ordered_json::parse(from->config_json);
  if (upcycled) return upcycled_config(own, theirs);
  for (const char* key : {"_name_or_path", "num_labels"}) theirs.erase(key);
  for (const char* key :
       {"architectures", "id2label", "label2id", "embd_pdrop", "attn_pdrop", "resid_pdrop",
        "hidden_dropout_prob", "attention_probs_dropout_prob", "image_size", "grid_size",
        "output_router_logits", "router_aux_loss_coef", "router_z_loss_coef", "capacity_factor"}) {
    if (own.contains(key)) theirs[key] = own[key];
  }
  return theirs;
}

/// Hugging Face's name of a tokenizer's file.
std::string published_name(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name == "encoder.json") return "vocab.json";
  return name == "vocab.bpe" ? "merges.txt" : name;
}

/// Whether the model's own tokenizer is that of the task, which `check_tokens` sees to.
bool brings_tokenizer(const std::optional<Pretrained>& from) { return from && has_tokenizer(from->folder); }

/// The tokenizer's files of a task that has no folder of tokens.
std::map<std::string, std::string> tokenizer_texts_of(const std::string& task) {
  auto files = tokenizer_file_texts(task == "text" ? byte_tokenizer() : plain_tokenizer("0123456789"));
  for (const char* of_merges : {"vocab.json", "merges.txt"}) files.erase(of_merges);
  return files;
}

std::map<std::string, std::string> tokenizer_of(const Config& config, const std::optional<Pretrained>& from) {
  const std::string& task = config.data.task;
  if (sees_images(config.model)) return {};
  if (task != "tokens" && !brings_tokenizer(from)) return tokenizer_texts_of(task);
  const fs::path folder = brings_tokenizer(from) ? from->folder : fs::path(folders_of_tokens(config)[0]);
  std::map<std::string, std::string> files;
  for (const fs::path& file : tokenizer_files(folder)) files[published_name(file)] = bytes_of_file(file);
  return files;
}

/// What generating is told; the end of documents is also in `model`.
ordered_json generation_of(const Config& config, ordered_json& model) {
  ordered_json generation{{"_from_model_config", true}};
  std::optional<TokenId> end;
  if (config.data.task == "tokens") end = TokenSet(folders_of_tokens(config)[0]).end();
  for (const char* key : {"bos_token_id", "eos_token_id"}) {
    if (end && !model.contains(key)) model[key] = *end;
    if (model.contains(key)) generation[key] = model[key];
  }
  if (config.data.task == "adder")
    generation["max_new_tokens"] = Adder(static_cast<int>(config.data.digits)).answer();
  return generation;
}

}  // namespace

std::map<std::string, std::string> published_files(const Config& config, const models::ModelConfig& shape,
                                                   const std::vector<std::string>& label_names) {
  std::optional<Pretrained> from;
  if (!config.model.from.empty()) from = read_pretrained(config.model.from);
  ordered_json model = config_of(own_config(shape, label_names), from, config.model.upcycle);
  publish_type(model, scalar_type(config.precision));

  std::map<std::string, std::string> files = tokenizer_of(config, from);
  if (!files.empty()) files[kGeneration] = text_of(generation_of(config, model));
  for (const char* name : {kGeneration, kChat}) {
    if (from && is_there(from->folder / name)) files[name] = bytes_of_file(from->folder / name);
  }
  const auto* const images = std::get_if<models::ImageConfig>(&shape);
  if (images != nullptr && models::predicted_by(*images) == Predicted::labels) {
    const bool theirs = from && is_there(from->folder / kPreprocessor) &&
                        models::image_size(image_config(*from)) == config.model.image;
    files[kPreprocessor] = theirs ? bytes_of_file(from->folder / kPreprocessor)
                                  : preprocessor_config_json(preprocessing_of(config));
  }
  files["config.json"] = text_of(model);
  return files;
}

}  // namespace riesz::app
