// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// How fast a model writes, beside the memory that it reads for each token: in one run and in turns, what all
// ranks read together from memory, tokens of the model shared over them (tp), and, on one rank, the same
// model as a plain loop of LibTorch's operations. Sizes are SmolLM2 135M's, unless a model's folder is given.
//   generate [FOLDER] [--tokens N] [--turns N] [--prompt N]
#include "riesz/generation/generate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/sin.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/generation/huge_pages.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/models/text_model.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/primitives/all_max.h"

namespace riesz {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
std::uint64_t
sum_of(const std::uint64_t* words, std::size_t count) {
  constexpr std::size_t kLanes = 32;
  std::uint64_t sums[kLanes] = {};
  for (std::size_t i = 0; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += words[i + lane];
  return std::accumulate(sums, sums + kLanes, std::uint64_t{0});
}

/// Bytes a second that all ranks read from memory at once, in huge pages as the weights.
class MemoryReader {
 public:
  MemoryReader() : words_(kBytes / sizeof(std::uint64_t), 1) {
    const at::Tensor all =
        at::from_blob(words_.data(), {static_cast<std::int64_t>(words_.size())}, at::kLong);
    HugePages({all}).move(std::numeric_limits<double>::infinity());
  }

  double rate() {
    wait_for_all(Partition::world());
    const double begin = now();
    sum_ = sum_ + sum_of(words_.data(), words_.size());
    wait_for_all(Partition::world());
    return static_cast<double>(kBytes) * Runtime::size() / (now() - begin);
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{512} << 20;
  std::vector<std::uint64_t> words_;
  volatile std::uint64_t sum_ = 0;
};

/// A Llama as a plain loop: one token after another on one worker.
class PlainLlama {
 public:
  PlainLlama(const models::LlamaConfig& config, const std::vector<Parameter>& parameters) : config_(config) {
    for (const Parameter& each : parameters)
      weights_[each.name()] = each.value().local().view(each.shape()).detach();
    const std::int64_t d = config.width / config.heads;
    frequencies_ = at::pow(config.rotary_base, at::arange(0, d, 2, at::kFloat).div(-double(d)));
  }

  at::Tensor next(std::int64_t id) {
    const std::int64_t C = config_.width, d = C / config_.heads;
    const at::Tensor angle = frequencies_.mul(static_cast<double>(keys_.empty() ? 0 : keys_[0].size(2)));
    const at::Tensor cosine = at::cat({at::cos(angle), at::cos(angle)}),
                     sine = at::cat({at::sin(angle), at::sin(angle)});
    const auto turned = [&](const at::Tensor& x) {
      const at::Tensor half = at::cat({x.narrow(-1, d / 2, d / 2).neg(), x.narrow(-1, 0, d / 2)}, -1);
      return x.mul(cosine).add(half.mul(sine));
    };
    keys_.resize(static_cast<std::size_t>(config_.layers)), values_.resize(keys_.size());
    at::Tensor x = at::embedding(weight("model.embed_tokens"), at::empty({1, 1}, at::kLong).fill_(id));
    for (std::int64_t i = 0; i < config_.layers; ++i) {
      const std::string block = "model.layers." + std::to_string(i) + ".";
      const auto layer = [&](const char* name, const at::Tensor& of) {
        return at::linear(of, weight(block + name));
      };
      const auto heads = [&](const at::Tensor& of) { return of.view({1, 1, -1, d}).transpose(1, 2); };
      const at::Tensor n = at::rms_norm(x, {C}, weight(block + "input_layernorm"), config_.epsilon);
      const at::Tensor q = turned(heads(layer("self_attn.q_proj", n)));
      at::Tensor &k = keys_[static_cast<std::size_t>(i)], &v = values_[static_cast<std::size_t>(i)];
      const at::Tensor new_k = turned(heads(layer("self_attn.k_proj", n)));
      const at::Tensor new_v = heads(layer("self_attn.v_proj", n));
      k = k.defined() ? at::cat({k, new_k}, 2) : new_k;
      v = v.defined() ? at::cat({v, new_v}, 2) : new_v;
      const at::Tensor y = at::scaled_dot_product_attention(q, k, v, {}, 0, false, {}, true);
      x = x.add(layer("self_attn.o_proj", y.transpose(1, 2).reshape({1, 1, C})));
      const at::Tensor m = at::rms_norm(x, {C}, weight(block + "post_attention_layernorm"), config_.epsilon);
      x = x.add(layer("mlp.down_proj", at::silu(layer("mlp.gate_proj", m)).mul(layer("mlp.up_proj", m))));
    }
    x = at::rms_norm(x, {C}, weight("model.norm"), config_.epsilon);
    return at::linear(x, weight(config_.tied ? "model.embed_tokens" : "lm_head"));
  }

  /// The next `tokens`, each the likeliest.
  double seconds(std::int64_t tokens) {
    const double begin = now();
    for (std::int64_t i = 0; i < tokens; ++i) id_ = next(id_).argmax().item<std::int64_t>();
    return now() - begin;
  }

 private:
  const at::Tensor& weight(const std::string& name) const { return weights_.at(name + ".weight"); }

  models::LlamaConfig config_;
  std::map<std::string, at::Tensor> weights_;
  at::Tensor frequencies_;
  std::vector<at::Tensor> keys_, values_;
  std::int64_t id_ = 1;
};

/// The middle of rates, with the least and the greatest.
std::string spread(std::vector<double> all, double unit) {
  std::sort(all.begin(), all.end());
  char text[96];
  std::snprintf(text, sizeof text, "%8.2f (%.2f to %.2f)", all[all.size() / 2] / unit, all.front() / unit,
                all.back() / unit);
  return text;
}

models::CausalConfig config_of(const std::string& folder) {
  if (folder.empty()) return models::LlamaConfig{};
  std::ifstream file(folder + "/config.json");
  return models::causal_config({std::istreambuf_iterator<char>(file), {}});
}

int measure(const std::string& folder, std::int64_t tokens, int turns, std::int64_t prompt) {
  const at::NoGradGuard no_gradient;
  const models::CausalConfig config = config_of(folder);
  const auto model =
      models::make_causal_model(spaces::one_d(Partition::world().grid({{"tp", Runtime::size()}})), config);
  model->module().initialise(1, at::kFloat);
  if (!folder.empty()) load_weights(folder, model->module().parameters());
  std::vector<at::Tensor> weights;
  for (const Parameter& each : model->module().parameters()) weights.push_back(each.leaf());
  HugePages(weights).move(std::numeric_limits<double>::infinity());
  double bytes = 0;  // of all workers
  for (const Parameter& each : model->module().parameters())
    bytes += 4.0 * static_cast<double>(each.space().numel());
  MemoryReader reader;
  std::optional<PlainLlama> plain;
  if (Runtime::size() == 1 && models::kind_of(config) == "llama")
    plain.emplace(std::get<models::LlamaConfig>(config), model->module().parameters());
  const std::vector<TokenId> ids(static_cast<std::size_t>(prompt), 1);
  std::vector<double> reads, writes, of_limit, prompts, plainly, beside;
  for (int turn = 0; turn <= turns; ++turn) {  // the first one warms up
    const double before = reader.rate();
    const Generated all = generate(models::text_model(*model), {ids}, {.tokens = tokens + 1});
    const double after = reader.rate();
    const double plain_rate = plain ? static_cast<double>(tokens) / plain->seconds(tokens) : 0;
    if (turn == 0) continue;
    const double rate = static_cast<double>(all.written) / all.step_seconds;
    reads.push_back((before + after) / 2), writes.push_back(rate);
    of_limit.push_back(rate / (reads.back() / bytes));
    prompts.push_back(static_cast<double>(all.read) / all.read_seconds);
    plainly.push_back(plain_rate), beside.push_back(rate / std::max(plain_rate, 1e-9));
  }
  if (Runtime::rank() != 0) return 0;
  std::printf("%s on %d rank%s: %.1f MB of weights in fp32\n", model->module().describe().c_str(),
              Runtime::size(), Runtime::size() == 1 ? "" : "s", bytes / 1e6);
  std::printf("memory, all ranks    %s GB/s\n", spread(reads, 1e9).c_str());
  std::printf("reading a prompt     %s tokens/s\n", spread(prompts, 1).c_str());
  std::printf("writing              %s tokens/s\n", spread(writes, 1).c_str());
  std::printf("of memory's limit    %s\n", spread(of_limit, 1).c_str());
  if (!plain) return 0;
  std::printf("plain LibTorch loop  %s tokens/s\n", spread(plainly, 1).c_str());
  std::printf("beside it            %s times\n", spread(beside, 1).c_str());
  return 0;
}

int run(int argc, char** argv) {
  CLI::App program{"Tokens a second beside the memory's rate"};
  std::string folder;
  std::int64_t tokens = 32, prompt = 32;
  int turns = 5;
  program.add_option("FOLDER", folder, "A model's; without one SmolLM2 135M's sizes");
  program.add_option("--tokens", tokens, "Written in a turn");
  program.add_option("--prompt", prompt, "Tokens that are read before");
  program.add_option("--turns", turns);
  CLI11_PARSE(program, argc, argv);
  return measure(folder, tokens, turns, prompt);
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
