// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/architecture.h"

#include <cstdint>
#include <utility>

namespace riesz::app {
namespace {

using Named = Architecture::Named;

double real(std::int64_t n) { return static_cast<double>(n); }

/// The letters that all kinds have, and `more`.
template <typename Shape>
std::map<char, double> extents_of(const Shape& of, std::map<char, double> more) {
  const double C = real(of.width), H = real(of.heads);
  more.insert({{'c', C}, {'h', H}, {'d', C / H}, {'f', of.hidden > 0 ? real(of.hidden) : 4 * C}});
  return more;
}

}  // namespace

Architecture architecture(const models::MinGptConfig& of) {
  return {.extents = extents_of(of, {{'q', 3}, {'v', real(of.vocabulary)}, {'p', real(of.context)}}),
          .weights = {{"btc,cqhd->qbthd", "attn.c_attn"},
                      {"bthd,hdc->btc", "attn.c_proj"},
                      {"btc,cf->btf", "mlp.c_fc"},
                      {"btf,fc->btc", "mlp.c_proj"}},
          .biases = {{"qbthd", "attn.c_attn"},
                     {"btc", "attn.c_proj"},
                     {"btf", "mlp.c_fc"},
                     {"btc", "mlp.c_proj"}},
          .norms = {"ln_1", "ln_2"},
          .vectors_of_norm = 2,
          .attending = {"qbthd"},
          .blocks = "transformer.h",
          .last_norm = "transformer.ln_f",
          .embedding = {"transformer.wte.weight", "transformer.wpe.weight"},
          .positions = true,
          .tied = of.tied,
          .output_bias = false};
}

Architecture architecture(const models::GptJConfig& of) {
  return {.extents = extents_of(of, {{'v', real(of.vocabulary)}}),
          .weights = {{"btc,hdc->bthd", "attn.q_proj"},
                      {"btc,hdc->bthd", "attn.k_proj"},
                      {"btc,hdc->bthd", "attn.v_proj"},
                      {"bthd,chd->btc", "attn.out_proj"},
                      {"btc,fc->btf", "mlp.fc_in"},
                      {"btf,cf->btc", "mlp.fc_out"}},
          .biases = {{"btf", "mlp.fc_in"}, {"btc", "mlp.fc_out"}},
          .norms = {"ln_1"},  // which both branches read
          .vectors_of_norm = 2,
          .attending = {"bthd", "bthd", "bthd"},
          .blocks = "transformer.h",
          .last_norm = "transformer.ln_f",
          .embedding = {"transformer.wte.weight"},
          .positions = false,
          .tied = false,
          .output_bias = true};
}

Architecture architecture(const models::LlamaConfig& of) {
  std::map<char, double> extents =
      extents_of(of, {{'g', real(of.key_value_heads)}, {'v', real(of.vocabulary)}});
  if (of.head_width > 0) extents['d'] = real(of.head_width);
  std::vector<Named> biases;
  if (of.attention_bias)
    biases = {{"bthd", "self_attn.q_proj"}, {"btgd", "self_attn.k_proj"}, {"btgd", "self_attn.v_proj"}};
  if (of.attention_bias && of.output_bias) biases.push_back({"btc", "self_attn.o_proj"});
  if (of.mlp_bias)
    biases.insert(biases.end(), {{"btf", "mlp.gate_proj"}, {"btf", "mlp.up_proj"}, {"btc", "mlp.down_proj"}});
  return {.extents = std::move(extents),
          .weights = {{"btc,hdc->bthd", "self_attn.q_proj"},
                      {"btc,gdc->btgd", "self_attn.k_proj"},
                      {"btc,gdc->btgd", "self_attn.v_proj"},
                      {"bthd,chd->btc", "self_attn.o_proj"},
                      {"btc,fc->btf", "mlp.gate_proj"},
                      {"btc,fc->btf", "mlp.up_proj"},
                      {"btf,cf->btc", "mlp.down_proj"}},
          .biases = std::move(biases),
          .norms = {"input_layernorm", "post_attention_layernorm"},
          .vectors_of_norm = 1,
          .attending = {"bthd", "btgd", "btgd"},
          .activated = 2,  // gate and up, from which what goes down is made again
          .blocks = "model.layers",
          .last_norm = "model.norm",
          .embedding = {"model.embed_tokens.weight"},
          .positions = false,
          .tied = of.tied,
          .output_bias = false};
}

Architecture architecture(const models::MixtralConfig& of) {
  const models::LlamaConfig& dense = of;
  Architecture all = architecture(dense);
  std::erase_if(all.weights, [](const Named& each) { return each.path.starts_with("mlp."); });
  const std::string path = "block_sparse_moe.";
  all.weights.push_back({"btc,rc->btr", path + "gate"});
  all.extents.insert({{'e', real(of.experts)}, {'r', real(of.experts)}});
  all.mixture = {.experts = real(of.experts),
                 .chosen = real(of.experts_per_token),
                 .path = path + "experts",
                 .up = {"w1.weight", "w3.weight"},
                 .down = {"w2.weight"},
                 .gate = of.gate()};
  return all;
}

Architecture architecture(const models::Qwen2MoeConfig& of) {
  const models::LlamaConfig& dense = of;
  Architecture all = architecture(dense);
  const std::string mlp = "mlp.";
  for (Named& each : all.weights)
    if (each.path.starts_with(mlp)) each.path = mlp + "shared_expert." + each.path.substr(mlp.size());
  all.weights.push_back({"btc,rc->btr", mlp + "gate"});
  all.weights.push_back({"btc,oc->bto", mlp + "shared_expert_gate"});
  all.extents.insert(
      {{'e', real(of.experts)}, {'i', real(of.expert_hidden)}, {'o', 1}, {'r', real(of.experts)}});
  all.mixture = {.experts = real(of.experts),
                 .chosen = real(of.experts_per_token),
                 .path = mlp + "experts",
                 .up = {"gate_proj.weight", "up_proj.weight"},
                 .down = {"down_proj.weight"},
                 .inner = 'i',
                 .gate = of.gate()};
  return all;
}

Architecture architecture(const models::Gpt2MoeConfig& of) {
  const models::MinGptConfig& dense = of;
  Architecture all = architecture(dense);
  for (std::vector<Named>* layers : {&all.weights, &all.biases})
    for (Named& each : *layers)
      if (each.path.starts_with("mlp.")) each.blocks = Architecture::Blocks::without;
  all.weights.push_back({"btc,rc->btr", "mlp.gate", Architecture::Blocks::with_experts});
  all.extents.insert({{'e', real(of.experts)}, {'r', real(of.experts)}});
  all.mixture = {.experts = real(of.experts),
                 .chosen = real(of.experts_per_token),
                 .path = "mlp.experts",
                 .up = {"c_fc.weight"},
                 .down = {"c_proj.weight"},
                 .biases = {{'f', "c_fc.bias"}, {'c', "c_proj.bias"}},
                 .every = of.experts_every,
                 .gate = of.gate()};
  return all;
}

Architecture architecture(const models::VitConfig& of) {
  const double P = real(of.patch);
  std::vector<Named> biases{
      {"btc", "attention.output.dense"}, {"btf", "intermediate.dense"}, {"btc", "output.dense"}};
  const std::string in = "attention.attention.";
  if (of.qkv_bias)
    for (const char* name : {"query", "key", "value"}) biases.push_back({"bthd", in + name});
  const std::string first = "vit.embeddings.";
  return {
      .extents = extents_of(
          of,
          {{'l', real(of.labels)}, {'p', real(of.tokens())}, {'x', real(of.channels)}, {'y', P}, {'z', P}}),
      .weights = {{"btc,hdc->bthd", in + "query"},
                  {"btc,hdc->bthd", in + "key"},
                  {"btc,hdc->bthd", in + "value"},
                  {"bthd,chd->btc", "attention.output.dense"},
                  {"btc,fc->btf", "intermediate.dense"},
                  {"btf,cf->btc", "output.dense"}},
      .biases = std::move(biases),
      .norms = {"layernorm_before", "layernorm_after"},
      .vectors_of_norm = 2,
      .attending = {"bthd", "bthd", "bthd"},
      .blocks = "vit.encoder.layer",
      .last_norm = "vit.layernorm",
      .embedding = {first + "patch_embeddings.projection.weight", first + "position_embeddings",
                    first + "patch_embeddings.projection.bias", first + "cls_token"},
      .table = "btxyz,cxyz->btc",
      .output_path = "classifier",
      .output = "bc,lc->bl",
      .logits = "bl",
      .positions = true,
      .tied = false,
      .output_bias = true};
}

}  // namespace riesz::app
