// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/model_source.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>

#include "riesz/app/models/scalar_type.h"
#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/gguf/gguf_file.h"
#include "riesz/io/gguf/tokenizer_texts.h"
#include "riesz/io/json/strict_json.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/io/safetensors/types.h"
#include "riesz/models/configs.h"
#include "riesz/models/llama_gguf.h"

namespace riesz::app {
namespace {

namespace fs = std::filesystem;

using Read = std::function<void(const Interval& elements, const at::Tensor& out)>;

/// Files that go with a model's weights; what goes with a training, such as its state, does not.
constexpr const char* kBeside[] = {"config.json",
                                   "generation_config.json",
                                   "tokenizer.json",
                                   "vocab.json",
                                   "tokenizer_config.json",
                                   "merges.txt",
                                   "encoder.json",
                                   "special_tokens_map.json",
                                   "vocab.bpe",
                                   "tokenizer.model",
                                   "preprocessor_config.json",
                                   "added_tokens.json",
                                   "chat_template.json",
                                   "chat_template.jinja",
                                   "LICENSE",
                                   "LICENSE.txt",
                                   "LICENSE.md",
                                   "NOTICE"};

/// config.json with the type that the weights have now.
std::string with_type(const std::string& config_json, at::ScalarType type) {
  check_nesting("config.json", config_json);
  auto config = nlohmann::ordered_json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  RIESZ_CHECK(config.is_object(), "config.json: it is no JSON object");
  publish_type(config, type);
  return config.dump(2) + "\n";
}

/// Reads in the type `from` and casts. What `to` has no room for is an error, not an infinity.
Read cast(const std::string& name, at::ScalarType from, at::ScalarType to, Read read) {
  if (from == to) return read;
  return [name, from, to, read](const Interval& elements, const at::Tensor& out) {
    const at::Tensor given = at::empty(out.sizes(), at::TensorOptions(from));
    read(elements, given);
    out.copy_(given);
    if (c10::elementSize(to) > c10::elementSize(from)) return;
    RIESZ_CHECK(at::equal(at::isfinite(out), at::isfinite(given)), "tensor ", in_quotes(name),
                " has numbers that are too great for ", published_type(to), "; convert it to another type");
  };
}

/// "2 of F32 and 30 of Q4_1", by name.
std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  std::size_t left = counts.size();
  for (const auto& [name, count] : counts) {
    text += concat(text.empty() ? "" : left == 1 ? " and " : ", ", count, " of ", name);
    --left;
  }
  return text;
}

ModelSource of_gguf(const fs::path& path, const SourceOptions& options) {
  const GgufFile file(path);
  const models::LlamaConfig config = models::llama_config(file);
  const at::ScalarType type = options.type.value_or(at::kFloat);
  ModelSource source;
  std::map<std::string, std::int64_t> counts;
  for (const models::LlamaGgufWeight& weight : models::llama_weights(file, config)) {
    const Read read = [file, weight](const Interval& elements, const at::Tensor& out) {
      file.read(weight.stored, models::stored_elements(weight, elements), out);
    };
    source.tensors.push_back({weight.name, type, weight.shape, cast(weight.name, at::kFloat, type, read)});
    ++counts[file.find(weight.stored)->type->name];
  }
  if (!options.no_tokenizer) source.texts = tokenizer_texts(file.metadata());
  source.texts["config.json"] = with_type(models::config_json(config), type);
  const std::string licence = file.metadata().text("general.license", "");
  source.about = concat("from ", in_quotes(path.filename().string()), ", ", counts_text(counts),
                        licence.empty() ? "" : "; licence: " + escaped(licence));
  return source;
}

ModelSource of_safetensors(const fs::path& path, const SourceOptions& options) {
  const StoredTensors files(path);
  ModelSource source;
  std::map<std::string, std::int64_t> counts;
  for (const StoredTensor& tensor : files.tensors()) {
    const at::ScalarType type = options.type && at::isFloatingType(tensor.type) ? *options.type : tensor.type;
    const Read read = [files, name = tensor.name](const Interval& elements, const at::Tensor& out) {
      files.read(name, {elements}, out);
    };
    source.tensors.push_back({tensor.name, type, tensor.shape, cast(tensor.name, tensor.type, type, read)});
    ++counts[safetensors_name(tensor.type)];
  }
  std::error_code error;
  const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  for (const char* name : kBeside) {
    if (fs::is_regular_file(folder / name, error)) source.texts[name] = bytes_of_file(folder / name);
  }
  const auto config = source.texts.find("config.json");
  if (config != source.texts.end() && options.type) config->second = with_type(config->second, *options.type);
  source.about = concat("from ", in_quotes(path.filename().string()), ", ", counts_text(counts));
  return source;
}

/// Does it begin as GGUF files do, whatever its name?
bool is_gguf(const fs::path& path) {
  const File file = File::to_read(path);
  char begin[4] = {};
  if (file.bytes() < 4) return path.extension() == ".gguf";
  file.read(0, begin, 4);
  return path.extension() == ".gguf" || std::string_view(begin, 4) == "GGUF";
}

/// The one GGUF file of a folder; nothing unless there is one.
std::optional<fs::path> only_gguf(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".safetensors") return std::nullopt;
    if (entry.path().extension() == ".gguf") found.push_back(entry.path());
  }
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

}  // namespace

ModelSource open_model(const fs::path& path, const SourceOptions& options) {
  const at::NoGradGuard no_gradient;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    if (const auto file = only_gguf(path)) return of_gguf(*file, options);
  } else if (fs::is_regular_file(path, error) && is_gguf(path)) {
    return of_gguf(path, options);
  }
  return of_safetensors(path, options);
}

}  // namespace riesz::app
