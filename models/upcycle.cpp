// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/upcycle.h"

#include <array>
#include <cstddef>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz::models {
namespace {

/// A weight of a dense MLP: its block, and its name there.
struct OfMlp {
  std::int64_t block;
  std::string blocks;  // the path before the block's number
  std::string name;    // behind "mlp."
};

std::optional<OfMlp> of_mlp(const std::string& weight) {
  const std::size_t at = weight.find(".mlp.");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t dot = weight.rfind('.', at - 1);
  return OfMlp{std::stoll(weight.substr(dot + 1, at - dot - 1)), weight.substr(0, dot + 1),
               weight.substr(at + 5)};
}

/// Mixtral's names of a Llama's weights.
std::string in_mixtral(const std::string& name) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kNames{{{"gate_proj.weight", "w1.weight"},
                                                                       {"up_proj.weight", "w3.weight"},
                                                                       {"down_proj.weight", "w2.weight"}}};
  for (const auto& [dense, routed] : kNames)
    if (name == dense) return routed;
  return name;
}

}  // namespace

CausalConfig upcycled(const CausalConfig& dense, const UpcycledSizes& sizes) {
  if (const auto* const llama = std::get_if<LlamaConfig>(&dense)) {
    MixtralConfig of;
    static_cast<LlamaConfig&>(of) = *llama;
    static_cast<RoutedSizes&>(of) = sizes;
    of.roles();  // throws where sizes do not fit each other
    return of;
  }
  const auto* const gpt2 = std::get_if<MinGptConfig>(&dense);
  RIESZ_CHECK(gpt2 != nullptr, "a \"", kind_of(dense),
              "\" does not become a model with experts; a \"llama\" becomes a \"mixtral\", a \"gpt2\" a "
              "\"gpt2_moe\"");
  Gpt2MoeConfig of;
  static_cast<MinGptConfig&>(of) = *gpt2;
  static_cast<RoutedSizes&>(of) = sizes;
  of.experts_every = sizes.experts_every;
  of.capacity_factor = sizes.capacity_factor, of.z_weight = sizes.z_weight;
  of.roles();
  return of;
}

UpcycledPart part_of_upcycled(const std::string& parameter) {
  using Kind = UpcycledPart::Kind;
  constexpr const char* kExperts = ".experts.";
  if (const std::size_t at = parameter.find(kExperts); at != std::string::npos)
    return {Kind::expert, std::stoll(parameter.substr(at + std::string(kExperts).size()))};
  const bool router =
      parameter.ends_with(".block_sparse_moe.gate.weight") || parameter.ends_with(".mlp.gate.weight");
  return {router ? Kind::router : Kind::rest, 0};
}

std::string upcycled_name(const CausalConfig& sizes, const std::string& dense,
                          std::optional<std::int64_t> expert) {
  const std::optional<OfMlp> mlp = of_mlp(dense);
  const auto* const gpt2 = std::get_if<Gpt2MoeConfig>(&sizes);
  const bool in_experts = mlp && (gpt2 == nullptr || gpt2->has_experts(mlp->block));
  if (in_experts != expert.has_value()) return "";
  if (!in_experts) return dense;
  return concat(mlp->blocks, mlp->block, gpt2 != nullptr ? ".mlp" : ".block_sparse_moe", ".experts.", *expert,
                ".", gpt2 != nullptr ? mlp->name : in_mixtral(mlp->name));
}

}  // namespace riesz::models
