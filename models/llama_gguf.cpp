// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/llama_gguf.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/models/config_reader.h"

namespace riesz::models {
namespace {

constexpr const char* kFrequencies = "rope_freqs.weight";

/// What of a Llama the metadata say, and all that they may.
std::string key(const char* name) { return concat("llama.", name); }

void check_keys(const GgufMetadata& said) {
  static const std::set<std::string> known = {"llama.attention.causal",
                                              "llama.attention.head_count",
                                              "llama.attention.head_count_kv",
                                              "llama.attention.key_length",
                                              "llama.attention.value_length",
                                              "llama.attention.layer_norm_rms_epsilon",
                                              "llama.block_count",
                                              "llama.context_length",
                                              "llama.embedding_length",
                                              "llama.expert_count",
                                              "llama.expert_used_count",
                                              "llama.feed_forward_length",
                                              "llama.rope.dimension_count",
                                              "llama.rope.freq_base",
                                              "llama.rope.scaling.type",
                                              "llama.vocab_size"};
  const std::string architecture = said.text("general.architecture");
  if (architecture != "llama")
    said.refuse("general.architecture", concat("is ", in_quotes(architecture), "; \"llama\" is known"));
  for (const auto& [name, value] : said.all()) {
    if (name.starts_with("llama.") && !known.contains(name))
      said.refuse(name, "is nothing that this llama knows");
    if (name.starts_with("split."))
      said.refuse(name, "says that this is one file of several; join them first");
  }
}

void only(const GgufMetadata& said, const char* name, std::int64_t value) {
  const std::int64_t found = said.integer(key(name), value);
  if (found != value) said.refuse(key(name), concat("is ", found, "; this llama has it as ", value));
}

std::int64_t size(const GgufMetadata& said, const char* name, std::int64_t most,
                  std::optional<std::int64_t> otherwise = {}) {
  const std::int64_t n = said.integer(key(name), otherwise);
  if (n < 1 || n > most) said.refuse(key(name), concat("is ", n, "; it must be from 1 to ", most));
  return n;
}

double number(const GgufMetadata& said, const char* name, double least, double most,
              std::optional<double> otherwise = {}) {
  const double x = said.number(key(name), otherwise);
  const bool within = x >= least && x <= most;  // no NaN is
  if (!within) said.refuse(key(name), concat("is ", x, "; it must be from ", least, " to ", most));
  return x;
}

/// By how much Llama 3's scaling slows each pair down.
double slowing(const RotaryScaling& scaling, double turns) {
  if (turns > scaling.high_freq_factor) return 1;
  if (turns < scaling.low_freq_factor) return scaling.factor;
  const double smooth =
      (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return 1 / ((1 - smooth) / scaling.factor + smooth);
}

/// The scaling that has these factors: Llama 3's are all of 1, 4 and 8192 positions, and differ in the
/// greatest.
std::optional<RotaryScaling> scaling_of(const GgufFile& file, const LlamaConfig& config) {
  const GgufTensor* tensor = file.find(kFrequencies);
  if (tensor == nullptr) return std::nullopt;
  const std::int64_t d = config.head_width;
  RIESZ_CHECK(tensor->numel() == d / 2, "cannot use ", in_quotes(file.path().string()), ": ", kFrequencies,
              " has ", tensor->numel(), " factors, and heads of ", d, " have ", d / 2, " pairs");
  const at::Tensor factors = at::empty({d / 2}, at::kFloat);
  file.read(kFrequencies, {{0, d / 2}}, factors);
  const auto* found = factors.const_data_ptr<float>();
  const RotaryScaling scaling{.factor = *std::max_element(found, found + d / 2)};
  if (scaling.factor == 1) return std::nullopt;
  for (std::int64_t i = 0; i < d / 2; ++i) {
    const double frequency =
        std::pow(config.rotary_base, -2.0 * static_cast<double>(i) / static_cast<double>(d));
    const double turns =
        static_cast<double>(scaling.original_max_position) * frequency / (2 * std::numbers::pi);
    const double expected = slowing(scaling, turns);
    RIESZ_CHECK(std::abs(found[i] - expected) <= 1e-4 * expected, "cannot use ",
                in_quotes(file.path().string()), ": ", kFrequencies, " slows pair ", i, " down by ", found[i],
                ", and Llama 3's scaling by ", scaling.factor, " does by ", expected,
                "; no other scaling is known");
  }
  return scaling;
}

/// Do the sizes fit each other?
void check_sizes(const GgufFile& file, const LlamaConfig& config) {
  try {
    config.roles();
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; so says ", in_quotes(file.path().string())));
  }
}

std::string block(std::int64_t i, const char* name) { return concat("blk.", i, ".", name); }

/// The weights of one block.
void add_block(std::vector<LlamaGgufWeight>& all, std::int64_t i, const LlamaConfig& of) {
  const std::string layer = concat("model.layers.", i, ".");
  const std::int64_t C = of.width, d = of.head_width, q = of.heads * d, kv = of.key_value_heads * d;
  const auto linear = [&](const char* name, const char* stored, std::int64_t out, std::int64_t in, bool bias,
                          std::int64_t heads_of = 0) {
    all.push_back({layer + name + ".weight", block(i, stored) + ".weight", {out, in}, heads_of});
    if (bias) all.push_back({layer + name + ".bias", block(i, stored) + ".bias", {out}, heads_of});
  };
  const auto norm = [&](const char* name, const char* stored) {
    all.push_back({layer + name + ".weight", block(i, stored) + ".weight", {C}});
  };
  norm("input_layernorm", "attn_norm");
  linear("self_attn.q_proj", "attn_q", q, C, of.attention_bias, d);
  linear("self_attn.k_proj", "attn_k", kv, C, of.attention_bias, d);
  linear("self_attn.v_proj", "attn_v", kv, C, of.attention_bias);
  linear("self_attn.o_proj", "attn_output", C, q, of.attention_bias);
  norm("post_attention_layernorm", "ffn_norm");
  linear("mlp.gate_proj", "ffn_gate", of.hidden, C, of.mlp_bias);
  linear("mlp.up_proj", "ffn_up", of.hidden, C, of.mlp_bias);
  linear("mlp.down_proj", "ffn_down", C, of.hidden, of.mlp_bias);
}

/// Every name and shape of the file is one of the model's, and the reverse.
void compare(const GgufFile& file, const std::vector<LlamaGgufWeight>& weights) {
  std::string wrong;
  std::set<std::string> wanted = {kFrequencies};
  for (const LlamaGgufWeight& weight : weights) {
    wanted.insert(weight.stored);
    const GgufTensor* there = file.find(weight.stored);
    if (there == nullptr)
      wrong += concat("\n  ", in_quotes(weight.stored), " is missing");
    else if (there->shape != weight.shape)
      wrong += concat("\n  ", in_quotes(weight.stored), " has the shape ", at::IntArrayRef(there->shape),
                      ", not ", at::IntArrayRef(weight.shape));
  }
  for (const GgufTensor& tensor : file.tensors()) {
    if (!wanted.contains(tensor.name))
      wrong += concat("\n  ", in_quotes(tensor.name), " is none of its weights");
  }
  RIESZ_CHECK(wrong.empty(), "cannot use ", in_quotes(file.path().string()),
              ": its tensors are not those of the llama that its metadata describe:", wrong);
}

}  // namespace

LlamaConfig llama_config(const GgufFile& file) {
  const GgufMetadata& said = file.metadata();
  check_keys(said);
  LlamaConfig of;
  of.layers = size(said, "block_count", detail::kMostLayers);
  of.heads = size(said, "attention.head_count", detail::kMostWidth);
  of.key_value_heads = size(said, "attention.head_count_kv", detail::kMostWidth, of.heads);
  of.width = size(said, "embedding_length", detail::kMostWidth);
  of.head_width = size(said, "attention.key_length", detail::kMostWidth, of.width / of.heads);
  of.hidden = size(said, "feed_forward_length", detail::kMostWidth);
  of.context = size(said, "context_length", detail::kMostPositions);
  of.rotary_base = number(said, "rope.freq_base", 1, detail::kMostRotaryBase, 10000);
  of.epsilon = number(said, "attention.layer_norm_rms_epsilon", 0, 1);
  only(said, "attention.value_length", of.head_width);
  only(said, "rope.dimension_count", of.head_width);
  only(said, "expert_count", 0);
  if (!said.flag(key("attention.causal"), true)) said.refuse(key("attention.causal"), "is false");
  const std::string scaling = said.text(key("rope.scaling.type"), "none");
  if (scaling != "none")
    said.refuse(key("rope.scaling.type"), concat("is ", in_quotes(scaling), "; none is known"));
  const GgufTensor* tokens = file.find("token_embd.weight");
  of.vocabulary = tokens != nullptr ? tokens->shape.front() : size(said, "vocab_size", detail::kMostWords);
  only(said, "vocab_size", of.vocabulary);
  of.tied = file.find("output.weight") == nullptr;
  of.attention_bias = file.find(block(0, "attn_q.bias")) != nullptr;
  of.mlp_bias = file.find(block(0, "ffn_up.bias")) != nullptr;
  check_sizes(file, of);
  of.rotary_scaling = scaling_of(file, of);
  return of;
}

std::vector<LlamaGgufWeight> llama_weights(const GgufFile& file, const LlamaConfig& config) {
  LlamaConfig of = config;
  const auto tensors = static_cast<std::int64_t>(file.tensors().size());
  RIESZ_CHECK(of.layers <= tensors, "cannot use ", in_quotes(file.path().string()), ": it has ", tensors,
              " tensors, too few for ", of.layers, " layers");
  if (of.head_width == 0) of.head_width = of.width / of.heads;
  std::vector<LlamaGgufWeight> all{
      {"model.embed_tokens.weight", "token_embd.weight", {of.vocabulary, of.width}},
      {"model.norm.weight", "output_norm.weight", {of.width}}};
  if (!of.tied) all.push_back({"lm_head.weight", "output.weight", {of.vocabulary, of.width}});
  for (std::int64_t i = 0; i < of.layers; ++i) add_block(all, i, of);
  compare(file, all);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

Intervals stored_elements(const LlamaGgufWeight& weight, const Interval& published) {
  const std::int64_t d = weight.head_width;
  if (d == 0) return {published};
  const std::int64_t row = weight.shape.size() > 1 ? weight.shape.back() : 1;
  Intervals stored;
  for (std::int64_t at = published.begin; at < published.end;) {
    const std::int64_t r = at / row, head = r / d, i = r % d % (d / 2), j = r % d / (d / 2);
    const std::int64_t shift = (head * d + 2 * i + j - r) * row;
    const std::int64_t end = std::min(published.end, (r + 1) * row);
    stored.push_back({at + shift, end + shift});
    at = end;
  }
  return stored;
}

}  // namespace riesz::models
