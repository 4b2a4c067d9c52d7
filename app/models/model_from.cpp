// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/model_from.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "riesz/app/models/model_keys.h"
#include "riesz/app/models/model_shape.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/tokenizer/plain_tokenizer.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/io/tokens/token_set.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/data/folder_source.h"
#include "riesz/train/data/image_task.h"

namespace riesz::app {
namespace {

namespace fs = std::filesystem;

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

/// What the keys would say of a preprocessing.
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
  return shown && is_there(from.folder / kPreprocessor) ? kPreprocessor : "";
}

/// The keys that say how a model is trained, and not what it is: they may be set beside it.
constexpr std::array<const char*, 4> kOfTraining{"model.dropout", "model.balance_weight", "model.z_weight",
                                                 "model.capacity_factor"};
/// The keys of the experts that a model gets, which its folder cannot say.
constexpr std::array<const char*, 3> kOfExperts{"model.experts", "model.experts_per_token",
                                                "model.experts_every"};

bool is_among(const auto& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// With the values that the keys set of how the model is trained.
void take_what_trains(Config& theirs, const Config& config) {
  for (const char* name : kOfTraining) {
    if (config.origins.contains(name)) {
      Config said = config;
      const auto number = std::get<double& (*)(Config&)>(find_key(name)->field);
      number(theirs) = number(said);
    }
  }
}

/// With the model, its labels and its preprocessing as the folder has them, and all else as in `config`.
Config as_the_folder_says(const Pretrained& from, const Config& config) {
  Config theirs = config;
  theirs.model = keys_of(shape_of_folder(from, config.model));
  theirs.model.dropout = dropout_of(from.config);
  take_what_trains(theirs, config);
  if (has_space(theirs.model) && config.origins.contains("model.image"))
    theirs.model.image = config.model.image;  // its weights are of no size of images
  theirs.model.from = config.model.from, theirs.model.new_head = config.model.new_head;
  theirs.model.upcycle = config.model.upcycle;
  theirs.labels.clear();
  if (std::holds_alternative<models::CausalConfig>(from.config)) return theirs;
  if (models::predicted_by(image_config(from)) != Predicted::labels) return theirs;
  if (!config.model.new_head) theirs.labels = label_names(from);
  if (const auto shown = read_preprocessing(from)) {
    set_keys(theirs.data, *shown);
    if (theirs.data.resize < theirs.model.image) theirs.data.resize = 0;  // of the folder's smaller images
  }
  return theirs;
}

/// With the sizes that a 0 stands for, and the keys of preprocessing as `set_keys` writes them: then equal
/// values have equal texts.
Config in_full(Config config, const Config::Model& theirs) {
  config.model = sizes_in_full(config.model);
  if (!sees_images(theirs)) return config;
  Config of_their_sizes = config;
  of_their_sizes.model = theirs;
  set_keys(config.data, preprocessing_of(of_their_sizes));
  return config;
}

/// Whether each of the tokens that texts are made of is the same token of the model. `what`: says of what
/// texts they are, and `remedy` what else can be done.
void check_same_tokens(const Tokenizer& tokens, const std::string& what, const fs::path& of_model,
                       const std::string& remedy) {
  const Tokenizer model = read_tokenizer(of_model);
  const auto text = [](const Tokenizer& of, std::int64_t number) {
    try {
      return in_quotes(of.decode({static_cast<TokenId>(number)}));
    } catch (const Error&) {
      return std::string("no token");  // numbers may have gaps
    }
  };
  for (std::int64_t i = 0; i < tokens.size(); ++i) {
    const std::string here = text(tokens, i), there = text(model, i);
    RIESZ_CHECK(here == there, what, " was made by another tokenizer than the model's in ",
                in_quotes(of_model.string()), ": token ", i, " is ", here, " there and ", there,
                " of the model; ", remedy);
  }
}

/// The kind of a folder whose model gets experts, in quotes; else "".
std::string kind_before(const Config& config, const Pretrained& from) {
  return config.model.upcycle ? in_quotes(keys_of(from.config).kind) : "";
}

/// Whether the keys that are set say what the folder says. A key may say the kind of a model before it gets
/// experts, or after.
void check_says_the_same(const Config& config, const Pretrained& from, const Config& theirs) {
  const Config full = in_full(config, theirs.model);
  std::string otherwise;
  std::map<std::string, std::string> names;  // of keys, by the file that says another value
  for (const auto& [name, origin] : config.origins) {
    const std::string file = file_of(name, from);
    if (file.empty()) continue;
    const Key& key = *find_key(name);
    check_is_read(key, theirs);
    const std::string has = value_text(key, theirs);
    const std::string said = value_text(key, full);
    const std::string before = name == "model.kind" ? kind_before(config, from) : "";
    if (said == has || said == before) continue;
    otherwise += concat(value_and_origin(config, name), ", but ",
                        names.empty() ? value_and_origin(config, "model.from") : "it", " has ",
                        before.empty() ? has : concat(before, ", which becomes a ", has), "; ");
    names[file] += (names[file].empty() ? "" : ", ") + name;
  }
  std::string remedy;
  for (const auto& [file, keys] : names)
    remedy += concat(remedy.empty() ? "" : "; ", "remove ", keys, ", which its ", file, " says");
  RIESZ_CHECK(names.empty(), otherwise, remedy);
}

}  // namespace

Config with_model_from(Config config) {
  if (config.model.from.empty()) return config;
  const Pretrained from = read_pretrained(config.model.from);
  Config theirs = as_the_folder_says(from, config);
  check_says_the_same(config, from, theirs);
  if (config.model.upcycle) theirs.origins.erase("model.kind");  // a key may have said what it was before
  for (const Key& key : schema()) {
    const std::string file = file_of(key.name, from);
    const bool by_keys = key.name == "model.from" || key.name == "model.new_head" ||
                         key.name == "model.upcycle" || is_among(kOfTraining, key.name) ||
                         (config.model.upcycle && is_among(kOfExperts, key.name));
    if (!file.empty() && !by_keys && is_read(key, theirs))
      theirs.origins.emplace(key.name, escaped((from.folder / file).string()));
  }
  return theirs;
}

void check_tokens(const Config& config, std::int64_t vocabulary) {
  if (config.model.from.empty()) return;
  const Pretrained from = read_pretrained(config.model.from);
  const std::int64_t its = models::vocabulary_of(text_config(from));
  const bool brings_tokenizer = has_tokenizer(from.folder);
  const std::string of_tokens = "make the tokens with riesz tokenize … --tokenizer " + from.folder.string();
  if (config.data.task != "tokens") {
    const std::string remedy = "give it texts in its own tokens, with data.task = \"tokens\"";
    RIESZ_CHECK(vocabulary == its, value_and_origin(config, "data.task"), " has ", vocabulary,
                " tokens, and ", value_and_origin(config, "model.from"), " has ", its, "; ", remedy);
    if (brings_tokenizer && config.data.task == "text")
      check_same_tokens(Tokenizer(byte_tokenizer()), value_and_origin(config, "data.task"), from.folder,
                        remedy);
    return;
  }
  RIESZ_CHECK(vocabulary <= its, value_and_origin(config, "data.tokens"), " has a vocabulary of ", vocabulary,
              ", more than the ", its, " of ", value_and_origin(config, "model.from"), "; ", of_tokens);
  const std::string folder = folders_of_tokens(config)[0];
  if (brings_tokenizer)
    check_same_tokens(read_tokenizer(folder), "data.tokens = " + in_quotes(folder), from.folder, of_tokens);
}

}  // namespace riesz::app
