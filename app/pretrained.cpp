// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/pretrained.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <type_traits>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/hub_cache.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/io/tokens/token_set.h"
#include "riesz/models/label_names.h"
#include "riesz/train/image_task.h"
#include "riesz/train/load_config.h"
#include "riesz/train/schema.h"
#include "riesz/train/token_task.h"

namespace riesz::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPreprocessor = "preprocessor_config.json";

/// Of any kind, what the keys would say that all kinds read.
template <typename Kind>
Config::Model shared_keys_of(const Kind& of) {
  Config::Model keys;
  keys.layers = of.layers, keys.heads = of.heads, keys.width = of.width;
  keys.hidden = of.hidden > 0 ? of.hidden : 4 * of.width;
  keys.activation = of.activation, keys.epsilon = of.epsilon;
  return keys;
}

// What the keys would say of it; sizes that follow from others are said too.

Config::Model keys_of(const models::VitConfig& of) {
  Config::Model keys = shared_keys_of(of);
  keys.kind = "vit";
  keys.image = of.image, keys.patch = of.patch, keys.channels = of.channels;
  return keys;
}

Config::Model keys_of(const models::CausalConfig& config) {
  Config::Model keys;
  std::visit(
      [&](const auto& of) {
        using Kind = std::decay_t<decltype(of)>;
        keys = shared_keys_of(of);
        keys.context = of.context;
        if constexpr (std::is_same_v<Kind, models::LlamaConfig>) {
          keys.key_value_heads = of.key_value_heads, keys.rotary_base = of.rotary_base, keys.tied = of.tied;
        } else if constexpr (std::is_same_v<Kind, models::GptJConfig>) {
          keys.rotary_dims = of.rotary_dims;
        } else {
          keys.tied = of.tied;
        }
      },
      config);
  keys.kind = models::kind_of(config);
  return keys;
}

/// "0.485, 0.456, 0.406"; of equal numbers one.
std::string text_of(const std::vector<double>& numbers) {
  std::string text;
  const bool same = std::count(numbers.begin(), numbers.end(), numbers[0]) == std::ssize(numbers);
  for (const double number : same ? std::vector{numbers[0]} : numbers) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text += concat(text.empty() ? "" : ", ", std::string(digits, end));
  }
  return text;
}

/// What the keys would say of it.
void set_keys(Config::Data& keys, const Preprocessing& of) {
  keys.mean = text_of(of.mean), keys.deviation = text_of(of.deviation);
  keys.fit = of.form.stretched ? "stretch" : "crop";
  keys.resize = of.form.resized == of.form.size ? 0 : of.form.resized;
  keys.interpolation = of.form.bicubic ? "bicubic" : "bilinear";
}

/// The file of the folder that says the key's value, "" where none does.
std::string file_of(const std::string& key, const Pretrained& from) {
  if (key.starts_with("model.")) return "config.json";
  const bool shown = key == "data.mean" || key == "data.deviation" || key == "data.fit" ||
                     key == "data.resize" || key == "data.interpolation";
  return shown && fs::exists(from.folder / kPreprocessor) ? kPreprocessor : "";
}

/// With what the keys alone say.
Config as_the_folder_says(const Pretrained& from, const Config& config) {
  Config theirs = config;
  theirs.model = std::visit([](const auto& of) { return keys_of(of); }, from.config);
  theirs.model.dropout =
      config.origins.contains("model.dropout") ? config.model.dropout : dropout_of(from.config);
  theirs.model.from = config.model.from, theirs.model.new_head = config.model.new_head;
  theirs.labels.clear();
  if (std::holds_alternative<models::CausalConfig>(from.config)) return theirs;
  if (!config.model.new_head) theirs.labels = models::label_names(from.config_json);
  if (const auto shown = read_preprocessing(from)) set_keys(theirs.data, *shown);
  return theirs;
}

/// With the sizes that 0 stands for, and what images are shown by written as `set_keys` writes it.
Config in_full(Config config, const Config::Model& theirs) {
  Config::Model& keys = config.model;
  if (keys.hidden == 0) keys.hidden = 4 * keys.width;
  if (keys.key_value_heads == 0) keys.key_value_heads = keys.heads;
  if (keys.rotary_dims == 0) keys.rotary_dims = keys.width / keys.heads;
  if (theirs.kind != "vit") return config;
  Config of_their_sizes = config;
  of_their_sizes.model = theirs;
  set_keys(config.data, preprocessing_of(of_their_sizes));
  return config;
}

/// The folder of a training is taken for that of its model easily; its last checkpoint is one.
std::string meant_instead(const fs::path& folder) {
  const auto checkpoints = checkpoints_in(folder);
  return checkpoints.empty() ? "" : concat("; name ", in_quotes(checkpoints.back().second.string()));
}

/// Whether each of the tokens that texts are made of is the same token of the model.
void check_same_tokens(const fs::path& of_tokens, const fs::path& of_model) {
  const Tokenizer tokens = read_tokenizer(of_tokens), model = read_tokenizer(of_model);
  const auto text = [](const Tokenizer& of, std::int64_t number) {
    try {
      return in_quotes(of.decode({static_cast<TokenId>(number)}));
    } catch (const Error&) {
      return std::string("no token");  // numbers may have gaps
    }
  };
  for (std::int64_t i = 0; i < tokens.size(); ++i) {
    const std::string here = text(tokens, i), there = text(model, i);
    RIESZ_CHECK(here == there, "data.tokens = ", in_quotes(of_tokens.string()),
                " was made by another tokenizer than the model's in ", in_quotes(of_model.string()),
                ": token ", i, " is ", here, " there and ", there,
                " of the model; make the tokens with riesz tokenize … --tokenizer ", of_model.string());
  }
}

}  // namespace

Pretrained read_pretrained(const std::string& folder_or_name) {
  const fs::path folder = model_folder(folder_or_name), file = folder / "config.json";
  RIESZ_CHECK(fs::is_regular_file(file), "the folder ", in_quotes(folder.string()),
              " has no config.json, which says of what kind and size its model is", meant_instead(folder));
  const std::string text = bytes_of_file(file);
  try {
    return {folder, text, models::model_config(text)};
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; so says ", in_quotes(file.string())));
  }
}

const models::CausalConfig& text_config(const Pretrained& from) {
  const auto* const config = std::get_if<models::CausalConfig>(&from.config);
  RIESZ_CHECK(config != nullptr, "the model in ", in_quotes(from.folder.string()),
              " is a ViT, which sees images, and here one of text is wanted; riesz classify says "
              "what images show");
  return *config;
}

const models::VitConfig& image_config(const Pretrained& from) {
  const auto* const config = std::get_if<models::VitConfig>(&from.config);
  RIESZ_CHECK(config != nullptr, "the model in ", in_quotes(from.folder.string()), " is of text (a ",
              models::kind_of(text_config(from)), "), and here one of images is wanted, a ViT");
  return *config;
}

void load_pretrained(const Pretrained& from, models::CausalModel& model) {
  const auto called = [&](const std::string& stored) {
    return models::called_here(text_config(from), stored);
  };
  load_weights(from.folder, model.module().parameters(), {.called = called});
}

void load_pretrained(const Pretrained& from, const Module& of_images, bool new_head) {
  const auto is_head = [](const std::string& name) { return name.starts_with("classifier."); };
  RIESZ_CHECK(new_head || StoredTensors(from.folder).find("classifier.weight") != nullptr, "the model in ",
              in_quotes(from.folder.string()),
              " has no classifier; set model.new_head=true, which draws one and loads the rest");
  const auto called = [&](const std::string& stored) {
    return new_head && is_head(stored) ? "" : models::called_in_vit(stored);
  };
  std::vector<Parameter> parameters = of_images.parameters();
  if (new_head) std::erase_if(parameters, [&](const Parameter& of) { return is_head(of.name()); });
  load_weights(from.folder, parameters, {.called = called});
}

std::optional<Preprocessing> read_preprocessing(const Pretrained& from) {
  const fs::path file = from.folder / kPreprocessor;
  if (!fs::exists(file)) return std::nullopt;
  const models::VitConfig& model = image_config(from);
  try {
    const Preprocessing shown = preprocessing_of(bytes_of_file(file), model.channels);
    RIESZ_CHECK(shown.form.size == model.image, kPreprocessor, ": it makes images of ", shown.form.size,
                " pixels a side, and by config.json the model sees ", model.image);
    return shown;
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; so says ", in_quotes(file.string()),
                       "; change it, or take it away and say what the model is shown by data.* keys"));
  }
}

double dropout_of(const models::ModelConfig& config) {
  if (const auto* const vit = std::get_if<models::VitConfig>(&config)) return vit->dropout;
  const auto& of_text = std::get<models::CausalConfig>(config);
  if (const auto* const gpt2 = std::get_if<models::MinGptConfig>(&of_text))
    return gpt2->residual_dropout.value_or(gpt2->dropout);
  const auto* const gptj = std::get_if<models::GptJConfig>(&of_text);
  return gptj != nullptr ? gptj->residual_dropout : 0;
}

Config with_model_from(Config config) {
  if (config.model.from.empty()) return config;
  const Pretrained from = read_pretrained(config.model.from);
  Config theirs = as_the_folder_says(from, config);
  const Config full = in_full(config, theirs.model);
  std::string otherwise;
  std::map<std::string, std::string> names;  // of keys, by the file that says another value
  for (const auto& [name, origin] : config.origins) {
    const std::string file = file_of(name, from);
    if (file.empty()) continue;
    const Key& key = *find_key(name);
    check_is_read(key, theirs);
    const std::string has = value_text(key, theirs);
    if (value_text(key, full) == has) continue;
    otherwise += concat(value_and_origin(config, name), ", but ",
                        names.empty() ? value_and_origin(config, "model.from") : "it", " has ", has, "; ");
    names[file] += (names[file].empty() ? "" : ", ") + name;
  }
  std::string remedy;
  for (const auto& [file, keys] : names)
    remedy += concat(remedy.empty() ? "" : "; ", "remove ", keys, ", which its ", file, " says");
  RIESZ_CHECK(names.empty(), otherwise, remedy);
  for (const Key& key : schema()) {
    const std::string file = file_of(key.name, from);
    const bool by_keys =
        key.name == "model.from" || key.name == "model.new_head" || key.name == "model.dropout";
    if (!file.empty() && !by_keys && is_read(key, theirs))
      theirs.origins.emplace(key.name, escaped((from.folder / file).string()));
  }
  return theirs;
}

void check_tokens(const Config& config, std::int64_t vocabulary) {
  if (config.model.from.empty()) return;
  const Pretrained from = read_pretrained(config.model.from);
  const std::int64_t its = models::vocabulary_of(text_config(from));
  if (config.data.task != "tokens") {
    RIESZ_CHECK(vocabulary == its, value_and_origin(config, "data.task"), " has ", vocabulary,
                " tokens, and ", value_and_origin(config, "model.from"), " has ", its,
                "; give it texts in its own tokens, with data.task = \"tokens\"");
    return;
  }
  RIESZ_CHECK(vocabulary <= its, value_and_origin(config, "data.tokens"), " has a vocabulary of ", vocabulary,
              ", more than the ", its, " of ", value_and_origin(config, "model.from"),
              "; make the tokens with riesz tokenize … --tokenizer ", from.folder.string());
  if (has_tokenizer(from.folder)) check_same_tokens(folders_of_tokens(config)[0], from.folder);
}

}  // namespace riesz::app
