// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/causal_model.h"

#include <cstddef>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz::models {
namespace {

template <typename Model>
class Causal final : public CausalModel {
 public:
  template <typename Config>
  Causal(const Layout& layout, const Config& config) : config_(config), model_(layout, config) {}

  Module& module() override { return model_; }
  const CausalConfig& config() const override { return config_; }
  Space tokens() const override { return model_.tokens(); }
  Space targets() const override { return model_.targets(); }
  Predictions predictions(const Vector& ids) override { return model_(ids); }
  Vector next(const Vector& ids, ModelCache& cache) override {
    const CacheScope scope(cache, ids.space().shape().back());
    return Predictions(model_(ids, /*last_alone=*/true)).logits;
  }

 private:
  CausalConfig config_;
  Model model_;
};

/// Is a tensor of Hugging Face's files the output layer's copy of a tied table?
template <typename Config>
bool is_tied_copy(const Config& of, bool head) {
  if constexpr (requires { of.tied; }) return head && of.tied;
  return false;
}

/// The record of a class of models. Their files say the model's own names with or without the prefix.
template <typename Model, auto reader, typename Config = decltype(reader(std::string()))>
PublishedModel published(std::string name, std::string prefix) {
  return {.name = std::move(name),
          .read = [](const std::string& text) -> CausalConfig { return reader(text); },
          .make = [](const Layout& layout, const CausalConfig& config) -> std::unique_ptr<CausalModel> {
            return std::make_unique<Causal<Model>>(layout, std::get<Config>(config));
          },
          .rename =
              [prefix = std::move(prefix)](const CausalConfig& config, const std::string& stored) {
                for (const char* computed : {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"})
                  if (stored.ends_with(computed)) return std::string();
                const bool head = stored.starts_with("lm_head.");
                if (is_tied_copy(std::get<Config>(config), head)) return std::string();
                return head || stored.starts_with(prefix) ? stored : prefix + stored;
              }};
}

const PublishedModel& record_of(const CausalConfig& config) { return published_models()[config.index()]; }

/// Among the records, and so in the variant.
std::size_t index_of(const std::string& kind) {
  const std::vector<PublishedModel>& all = published_models();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == kind) return i;
  throw_error(concat("config.json: model_type is \"", kind,
                     "\"; the causal language models there are here are ", published_names()));
}

template <std::size_t... Index>
CausalConfig default_of(std::size_t index, std::index_sequence<Index...>) {
  CausalConfig config;
  ((Index == index ? void(config.emplace<Index>()) : void()), ...);
  return config;
}

}  // namespace

const std::vector<PublishedModel>& published_models() {
  static const std::vector<PublishedModel> all{
      published<MinGpt, gpt2_config>("gpt2", "transformer."),
      published<GptJ, gpt_j_config>("gptj", "transformer."),
      published<Llama, llama_config>("llama", "model."),
      published<Mixtral, mixtral_config>("mixtral", "model."),
      published<Qwen2Moe, qwen2_moe_config>("qwen2_moe", "model."),
      published<Gpt2Moe, gpt2_moe_config>("gpt2_moe", "transformer."),
  };
  return all;
}

std::string published_names() {
  std::string names;
  for (std::size_t i = 0; i < published_models().size(); ++i) {
    const bool last = i + 1 == published_models().size();
    names += concat(i == 0 ? "" : last ? " and " : ", ", '"', published_models()[i].name, '"');
  }
  return names;
}

CausalConfig causal_config(const std::string& config_json) {
  return published_models()[index_of(model_type_of(config_json))].read(config_json);
}

CausalConfig default_config(const std::string& kind) {
  return default_of(index_of(kind), std::make_index_sequence<std::variant_size_v<CausalConfig>>());
}

std::string config_json(const CausalConfig& config) {
  return std::visit([](const auto& of) { return config_json(of); }, config);
}

std::string kind_of(const CausalConfig& config) { return record_of(config).name; }

std::string weight_name(const CausalConfig& config, const std::string& stored) {
  return record_of(config).rename(config, stored);
}

std::int64_t blocks_of(const CausalConfig& config) {
  return std::visit([](const auto& of) { return of.layers; }, config);
}

std::int64_t vocabulary_of(const CausalConfig& config) {
  return std::visit([](const auto& of) { return of.vocabulary; }, config);
}

std::int64_t context_of(const CausalConfig& config) {
  return std::visit([](const auto& of) { return of.context; }, config);
}

Vector CausalModel::logits(const Vector& ids, ModelCache& cache) {
  const CacheScope scope(cache, ids.space().shape().back());
  return logits(ids);
}

std::unique_ptr<CausalModel> make_causal_model(const Layout& layout, const CausalConfig& config) {
  return record_of(config).make(layout, config);
}

}  // namespace riesz::models
