// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/causal_model.h"

#include <type_traits>

#include "riesz/comm/error.h"

namespace riesz::models {
namespace {

/// The class of a configuration.
template <typename Config>
using ModelOf = std::conditional_t<std::is_same_v<Config, MinGptConfig>, MinGpt,
                                   std::conditional_t<std::is_same_v<Config, GptJConfig>, GptJ, Llama>>;

template <typename Model>
class Causal final : public CausalModel {
 public:
  template <typename Config>
  Causal(const Layout& layout, const Config& config) : config_(config), model_(layout, config) {}

  Module& module() override { return model_; }
  const CausalConfig& config() const override { return config_; }
  Space tokens() const override { return model_.tokens(); }
  Space targets() const override { return model_.targets(); }
  Vector logits(const Vector& ids) override { return model_(ids); }
  Vector logits(const Vector& ids, std::vector<KeyValueCache>& caches) override {
    return model_(ids, caches);
  }
  Vector next(const Vector& ids, std::vector<KeyValueCache>& caches) override {
    return model_(ids, caches, /*last_alone=*/true);
  }

 private:
  CausalConfig config_;
  Model model_;
};

}  // namespace

CausalConfig causal_config(const std::string& config_json) {
  const std::string kind = model_type_of(config_json);
  if (kind == "gpt2") return gpt2_config(config_json);
  if (kind == "gptj") return gpt_j_config(config_json);
  if (kind == "llama") return llama_config(config_json);
  throw_error(concat("config.json: model_type is \"", kind,
                     "\"; the causal language models there are here are \"gpt2\", \"gptj\" and \"llama\""));
}

std::string config_json(const CausalConfig& config) {
  return std::visit([](const auto& of) { return config_json(of); }, config);
}

std::string kind_of(const CausalConfig& config) {
  constexpr const char* kKinds[] = {"gpt2", "gptj", "llama"};
  return kKinds[config.index()];
}

std::string called_here(const CausalConfig& config, const std::string& stored) {
  for (const char* computed : {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"}) {
    if (stored.ends_with(computed)) return "";
  }
  const bool head = stored.starts_with("lm_head.");
  const auto* const gpt2 = std::get_if<MinGptConfig>(&config);
  const auto* const llama = std::get_if<LlamaConfig>(&config);
  if (head && ((gpt2 != nullptr && gpt2->tied) || (llama != nullptr && llama->tied))) return "";
  const std::string prefix = llama != nullptr ? "model." : "transformer.";
  return head || stored.starts_with(prefix) ? stored : prefix + stored;
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

std::vector<KeyValueCache> CausalModel::caches(std::int64_t positions) const {
  return std::vector<KeyValueCache>(static_cast<std::size_t>(blocks_of(config())), KeyValueCache(positions));
}

std::unique_ptr<CausalModel> make_causal_model(const Layout& layout, const CausalConfig& config) {
  return std::visit(
      [&](const auto& of) -> std::unique_ptr<CausalModel> {
        return std::make_unique<Causal<ModelOf<std::decay_t<decltype(of)>>>>(layout, of);
      },
      config);
}

}  // namespace riesz::models
