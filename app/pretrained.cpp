// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/pretrained.h"

#include <type_traits>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/hub_cache.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/io/tokens/token_set.h"
#include "riesz/train/load_config.h"
#include "riesz/train/schema.h"
#include "riesz/train/token_task.h"

namespace riesz::app {
namespace {

namespace fs = std::filesystem;

/// What the keys would say of it; sizes that follow from others are said too.
Config::Model keys_of(const models::CausalConfig& config) {
  Config::Model keys;
  keys.kind = models::kind_of(config), keys.dropout = dropout_of(config);
  std::visit(
      [&](const auto& of) {
        using Kind = std::decay_t<decltype(of)>;
        keys.layers = of.layers, keys.heads = of.heads, keys.width = of.width, keys.context = of.context;
        keys.hidden = of.hidden > 0 ? of.hidden : 4 * of.width;
        keys.activation = of.activation, keys.epsilon = of.epsilon;
        if constexpr (std::is_same_v<Kind, models::LlamaConfig>) {
          keys.key_value_heads = of.key_value_heads, keys.rotary_base = of.rotary_base, keys.tied = of.tied;
        } else if constexpr (std::is_same_v<Kind, models::GptJConfig>) {
          keys.rotary_dims = of.rotary_dims;
        } else {
          keys.tied = of.tied;
        }
      },
      config);
  return keys;
}

/// With the sizes that 0 stands for.
Config::Model in_full(Config::Model keys) {
  if (keys.hidden == 0) keys.hidden = 4 * keys.width;
  if (keys.key_value_heads == 0) keys.key_value_heads = keys.heads;
  if (keys.rotary_dims == 0) keys.rotary_dims = keys.width / keys.heads;
  return keys;
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
    return {folder, text, models::causal_config(text)};
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; so says ", in_quotes(file.string())));
  }
}

void load_pretrained(const Pretrained& from, models::CausalModel& model) {
  const auto called = [&](const std::string& stored) { return models::called_here(from.config, stored); };
  load_weights(from.folder, model.module().parameters(), {.called = called});
}

double dropout_of(const models::CausalConfig& config) {
  if (const auto* const gpt2 = std::get_if<models::MinGptConfig>(&config))
    return gpt2->residual_dropout.value_or(gpt2->dropout);
  const auto* const gptj = std::get_if<models::GptJConfig>(&config);
  return gptj != nullptr ? gptj->residual_dropout : 0;
}

Config with_model_from(Config config) {
  if (config.model.from.empty()) return config;
  Config full = config, theirs = config;
  theirs.model = keys_of(read_pretrained(config.model.from).config);
  theirs.model.from = config.model.from;
  if (config.origins.contains("model.dropout")) theirs.model.dropout = config.model.dropout;
  full.model = in_full(config.model);
  std::string otherwise, names;
  for (const auto& [name, origin] : config.origins) {
    if (!name.starts_with("model.")) continue;
    const Key& key = *find_key(name);
    check_is_read(key, theirs);
    const std::string has = value_text(key, theirs);
    if (value_text(key, full) == has) continue;
    otherwise += concat(value_and_origin(config, name), ", but ",
                        names.empty() ? value_and_origin(config, "model.from") : "it", " has ", has, "; ");
    names += (names.empty() ? "" : ", ") + name;
  }
  RIESZ_CHECK(names.empty(), otherwise, "remove ", names, ", which its config.json says");
  return theirs;
}

void check_tokens(const Config& config, std::int64_t vocabulary) {
  if (config.model.from.empty()) return;
  const Pretrained from = read_pretrained(config.model.from);
  const std::int64_t its = models::vocabulary_of(from.config);
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
