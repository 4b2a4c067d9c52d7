// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What is made of a GGUF file of a model's weights is what the model itself saves, byte for byte, on any
// number of workers, in every type and in several files; and so is what is made of that again.
#include "riesz/app/jobs/convert.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/remainder.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "../io/gguf_bytes.h"
#include "../io/shared_folder.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/models/configs.h"
#include "riesz/models/llama_gguf.h"
#include "riesz/nn/layout/layout.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

using models::LlamaConfig;
using nlohmann::json;

LlamaConfig small() {
  return {.layers = 2,
          .heads = 4,
          .key_value_heads = 2,
          .width = 32,
          .hidden = 64,
          .vocabulary = 96,
          .context = 16,
          .rotary_base = 500,
          .epsilon = 1e-5,
          .tied = false};
}

/// A model of this worker alone, whose numbers are halves from -64 to 63.5: each type has them, Q8_0 too.
struct Halves {
  explicit Halves(at::ScalarType type, const LlamaConfig& config = small())
      : alone(Partition::world().subset({Runtime::rank()})), model(spaces::one_d(alone), config) {
    const at::NoGradGuard no_gradient;
    model.initialise(1, type);
    std::int64_t seed = 0;
    for (Parameter parameter : model.parameters()) {
      const at::Tensor i = at::arange(parameter.space().numel(), at::kLong) + 7 * ++seed;
      parameter.set((at::remainder(i * i + 3 * i, 256) - 128).mul(0.5).view(parameter.shape()).to(type));
    }
  }

  /// As the model itself is saved; by the first worker.
  void save(const std::filesystem::path& folder, const SaveOptions& options) const {
    if (Runtime::rank() != 0) return;
    save_checkpoint(folder, alone,
                    {state_of_values(model.parameters()), published_shapes(model.parameters()), {}}, options);
  }

  Partition alone;
  models::Llama model;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// llama.cpp's name of a weight.
std::string stored_name_of(std::string name) {
  for (const auto& [from, to] :
       std::vector<std::pair<const char*, const char*>>{{"model.embed_tokens", "token_embd"},
                                                        {"model.norm", "output_norm"},
                                                        {"lm_head", "output"},
                                                        {"model.layers", "blk"},
                                                        {"input_layernorm", "attn_norm"},
                                                        {"post_attention_layernorm", "ffn_norm"},
                                                        {"self_attn.o_proj", "attn_output"},
                                                        {"self_attn.", "attn_"},
                                                        {"mlp.", "ffn_"},
                                                        {"_proj", ""}})
    name = replaced(name, from, to);
  return name;
}

/// Numbers as Q8_0 with d = 1/2, or as F32.
std::string bytes_of(const at::Tensor& x, bool quantised) {
  const at::Tensor flat = x.contiguous().view({-1});
  const auto* in = flat.const_data_ptr<float>();
  if (!quantised) return {reinterpret_cast<const char*>(in), static_cast<std::size_t>(flat.nbytes())};
  std::string bytes;
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    if (i % 32 == 0) bytes += raw(std::uint16_t{0x3800});
    bytes += static_cast<char>(static_cast<std::int8_t>(2 * in[i]));
  }
  return bytes;
}

GgufBytes metadata(const LlamaConfig& of) {
  GgufBytes bytes;
  bytes.text("general.architecture", "llama").text("general.license", "apache-2.0");
  const auto integer = [&](const char* key, std::int64_t n) {
    bytes.integer(key, static_cast<std::uint32_t>(n));
  };
  integer("llama.block_count", of.layers);
  integer("llama.context_length", of.context);
  integer("llama.embedding_length", of.width);
  integer("llama.feed_forward_length", of.hidden);
  integer("llama.attention.head_count", of.heads);
  integer("llama.attention.head_count_kv", of.key_value_heads);
  bytes.number("llama.rope.freq_base", static_cast<float>(of.rotary_base));
  bytes.number("llama.attention.layer_norm_rms_epsilon", static_cast<float>(of.epsilon));
  bytes.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "smollm");
  bytes.texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<|im_end|>"})
      .texts("tokenizer.ggml.merges", {"a b"});
  return bytes.integers("tokenizer.ggml.token_type", {1, 1, 1, 3}).integer("tokenizer.ggml.eos_token_id", 3);
}

/// The model's weights as llama.cpp's converter writes them: rows of q and k in pairs of neighbours.
std::string gguf_of(const models::Llama& model, const LlamaConfig& of) {
  GgufBytes bytes = metadata(of);
  const std::int64_t d = of.width / of.heads;
  for (const Parameter& parameter : model.parameters()) {
    const std::string& name = parameter.name();
    at::Tensor x = parameter.value().local().detach().view(parameter.shape()).to(at::kFloat);
    if (name.find("q_proj") != std::string::npos || name.find("k_proj") != std::string::npos)
      x = x.view({-1, 2, d / 2, of.width}).transpose(1, 2).reshape(x.sizes());
    std::vector<std::int64_t> dims = x.sizes().vec();
    std::reverse(dims.begin(), dims.end());
    const bool quantised = dims.size() == 2 && name.find("o_proj") == std::string::npos;
    bytes.tensor(stored_name_of(name), dims, quantised ? 8 : 0, bytes_of(x, quantised));
  }
  return bytes.bytes();
}

/// Written by the first worker, there for all.
std::string write(const SharedFolder& folder, const std::string& name, const std::string& bytes) {
  wait_for_all(Partition::world());  // none reads what was there
  if (Runtime::rank() == 0) std::ofstream(folder.path() / name, std::ios::binary) << bytes;
  wait_for_all(Partition::world());
  return (folder.path() / name).string();
}

/// The files of weights of two folders are the same bytes; of the first worker's interest.
void expect_same_weights(const std::filesystem::path& one, const std::filesystem::path& other,
                         std::size_t files) {
  if (Runtime::rank() != 0) return;
  std::map<std::string, std::string> a = files_of(one), b = files_of(other);
  const auto is_text = [](const auto& file) { return file.first.find("safetensors") == std::string::npos; };
  std::erase_if(a, is_text), std::erase_if(b, is_text);
  EXPECT_EQ(a.size(), files);
  EXPECT_TRUE(a == b) << one << " and " << other;
}

TEST(Convert, MakesWhatTheModelItselfSaves) {
  const SharedFolder folder;
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  const LlamaConfig config = small();
  const std::string gguf = write(folder, "model.gguf", gguf_of(Halves(at::kFloat).model, config));
  const std::string report = app::convert_report({.path = gguf, .folder = at("fp32")});
  EXPECT_NE(report.find("from \"model.gguf\", 7 of F32 and 14 of Q8_0; licence: apache-2.0\n"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("21 tensors, 24,736 elements, 98,944 bytes; took"), std::string::npos) << report;
  Halves(at::kFloat).save(at("own"), {});
  expect_same_weights(at("fp32"), at("own"), 1);
  // In bf16, in several files; and of safetensors again, another way round.
  app::convert_report({.path = gguf, .folder = at("bf16"), .type = "bf16", .shard_bytes = 5000});
  Halves(at::kBFloat16).save(at("own_bf16"), {.file_bytes = 5000});
  expect_same_weights(at("bf16"), at("own_bf16"), 13);
  app::convert_report({.path = at("bf16"), .folder = at("again"), .type = "fp32"});
  expect_same_weights(at("again"), at("own"), 1);
  if (Runtime::rank() != 0) return;
  const auto files = files_of(at("bf16")), again = files_of(at("again"));
  LlamaConfig read = models::llama_config(files.at("config.json"));
  EXPECT_EQ(read.head_width, 8);
  read.head_width = 0;
  EXPECT_EQ(models::config_json(read), models::config_json(config));
  EXPECT_EQ(json::parse(files.at("config.json"))["torch_dtype"], "bfloat16");
  EXPECT_EQ(json::parse(again.at("config.json"))["torch_dtype"], "float32");
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json"})
    EXPECT_EQ(files.at(name), again.at(name)) << name;
}

/// Of a checkpoint of a training, the weights and what goes with them; each worker a part, and no more at
/// once.
TEST(Convert, TakesTheWeightsOfACheckpoint) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  const std::int64_t n = 1 << 20;
  const Space X(world, {n});
  const at::Tensor x = at::arange(n, at::kFloat);
  save_checkpoint(folder.path() / "own", world,
                  {{{"w", "value", X, {0, n}, true, x}, {"w", "first", X, {0, n}, true, x}},
                   {},
                   {{"state.json", "{}\n"}, {"config.json", R"({"dtype": "float32", "a": 1})"}}});
  {
    const MemoryMeter meter;
    app::convert_report({.path = (folder.path() / "own").string(),
                         .folder = (folder.path() / "new").string(),
                         .type = "bf16"});
    // A piece of 1 MiB in bf16, the same in fp32, and what compares them: of 4 MiB.
    EXPECT_LE(MemoryMeter::largest(), 2 << 20);
  }
  Vector back = StoredTensors(folder.path() / "new").read("w", X, at::kFloat);
  EXPECT_TRUE(back.local().equal(x.to(at::kBFloat16).to(at::kFloat)));
  if (Runtime::rank() != 0) return;
  const auto files = files_of(folder.path() / "new");
  EXPECT_EQ(files.size(), 2u);
  EXPECT_EQ(json::parse(files.at("config.json")), json::parse(R"({"dtype": "bfloat16", "a": 1})"));
}

TEST(Convert, RefusesByName) {
  const SharedFolder folder;
  const std::string out = (folder.path() / "out").string();
  const LlamaConfig config = small();
  const auto convert = [&](const std::string& bytes, const std::string& type = "") {
    app::convert_report({.path = write(folder, "a.gguf", bytes), .folder = out, .type = type});
  };
  const std::string good = gguf_of(Halves(at::kFloat).model, config);
  const auto with = [&](const std::string& from, const std::string& to) { return replaced(good, from, to); };
  EXPECT_ERROR(convert(good.substr(0, good.size() / 2)), "a.gguf", "the file is cut off");
  EXPECT_ERROR(convert(with(counted("llama"), counted("gpt2x"))),
               "its general.architecture is \"gpt2x\"; \"llama\" is known");
  EXPECT_ERROR(convert(with("llama.context_length", "llama.contest_length")),
               "its llama.contest_length is nothing that this llama knows");
  EXPECT_ERROR(convert(metadata(config).integer("llama.expert_count", 8).bytes()),
               "its llama.expert_count is 8; this llama has it as 0");
  EXPECT_ERROR(convert(metadata(config).integer("llama.vocab_size", 96).bytes()),
               "it has 0 tensors, too few for 2 layers");
  const std::string hidden = counted("llama.feed_forward_length") + raw(4);
  EXPECT_ERROR(convert(with(hidden + raw(64), hidden + raw(96))), "its tensors are not those of the llama",
               "\"blk.0.ffn_up.weight\" has the shape [64, 32], not [96, 32]");
  EXPECT_ERROR(convert(with("blk.1.ffn_up.weight", "blk.1.ffn_yp.weight")),
               "\"blk.1.ffn_up.weight\" is missing", "\"blk.1.ffn_yp.weight\" is none of its weights");
  EXPECT_ERROR(convert(good, "int8"), "the type is \"int8\"; it must be fp32, bf16 or fp16");
  // Sizes and numbers out of their ranges.
  const auto changed = [&](const LlamaConfig& of) { return metadata(of).bytes(); };
  LlamaConfig odd = config;
  odd.layers = 0;
  EXPECT_ERROR(convert(changed(odd)), "a.gguf", "its llama.block_count is 0; it must be from 1 to 10000");
  odd = config, odd.heads = 0;
  EXPECT_ERROR(convert(changed(odd)), "its llama.attention.head_count is 0; it must be from 1 to 1048576");
  odd = config, odd.width = 4294967295;
  EXPECT_ERROR(convert(changed(odd)),
               "its llama.embedding_length is 4294967295; it must be from 1 to 1048576");
  odd = config, odd.context = 4000000000;
  EXPECT_ERROR(convert(changed(odd)),
               "its llama.context_length is 4000000000; it must be from 1 to 134217728");
  odd = config, odd.epsilon = std::nan("");
  EXPECT_ERROR(convert(changed(odd)), "layer_norm_rms_epsilon is nan; it must be from 0 to 1");
  odd = config, odd.rotary_base = -INFINITY;
  EXPECT_ERROR(convert(changed(odd)), "its llama.rope.freq_base is -inf; it must be from 1 to 1e+15");
  odd = config, odd.key_value_heads = 3;
  EXPECT_ERROR(convert(metadata(odd).integer("llama.vocab_size", 7).bytes()),
               "no multiple of 3 key and value", "so says", "a.gguf");
  EXPECT_FALSE(std::filesystem::exists(out));
  // What one worker reads is refused on all.
  const Partition alone = Partition::world().subset({Runtime::rank()});
  const at::Tensor x = at::full({6}, 70000., at::kFloat);
  const std::string own = (folder.path() / "own").string();
  if (Runtime::rank() == 0)
    save_checkpoint(own, alone, {{{"w", "value", Space(alone, {6}), {0, 6}, true, x}}, {}, {}});
  wait_for_all(Partition::world());
  EXPECT_ERROR(app::convert_report({.path = own, .folder = out, .type = "fp16"}),
               "tensor \"w\" has numbers that are too great for float16");
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_ERROR(app::convert_report({.path = own, .folder = own}), "there is something at",
               "choose another name");
}

/// Of two that write one folder at once the second is refused, and does not take the first's half for whole.
TEST(Convert, IsNotOneOfTwoIntoOneFolder) {
  const SharedFolder folder;
  const std::string from = (folder.path() / "from").string(), to = (folder.path() / "to").string();
  Halves(at::kFloat).save(from, {});
  std::optional<WholeFolder> other;
  if (Runtime::rank() == 0) other.emplace(to).make();
  wait_for_all(Partition::world());
  EXPECT_ERROR(app::convert_report({.path = from, .folder = to}), "to\" is in use by another job");
  if (other) {
    EXPECT_TRUE(std::filesystem::exists(other->unfinished()));
    other.reset();
  }
  wait_for_all(Partition::world());
  app::convert_report({.path = from, .folder = to});
  EXPECT_TRUE(Runtime::rank() != 0 || files_of(to) == files_of(from));
  wait_for_all(Partition::world());
}

/// Factors of the published scaling are that scaling; others are refused.
TEST(Convert, FindsLlama3sRotaryScalingAgain) {
  const SharedFolder folder;
  const LlamaConfig config{.heads = 1, .key_value_heads = 1, .width = 64, .rotary_base = 500000};
  std::string factors;
  for (int i = 0; i < 32; ++i) {  // as Hugging Face's code has it, by wavelengths
    const double wave = 2 * std::numbers::pi * std::pow(500000., 2 * i / 64.), smooth = (8192 / wave - 1) / 3;
    const double factor = wave < 8192 / 4. ? 1 : wave > 8192 ? 32 : 1 / ((1 - smooth) / 32 + smooth);
    factors += raw(static_cast<float>(factor));
  }
  const auto read = [&](const std::string& tensor) {
    const GgufFile file(write(folder, "f.gguf",
                              metadata(config)
                                  .integer("llama.vocab_size", 7)
                                  .tensor("rope_freqs.weight", {32}, 0, tensor)
                                  .bytes()));
    return models::llama_config(file);
  };
  EXPECT_EQ(read(factors).rotary_scaling, (RotaryScaling{32, 1, 4, 8192}));
  EXPECT_EQ(read(factors).rotary_base, 500000);
  EXPECT_EQ(read(factors).vocabulary, 7);
  EXPECT_ERROR(read(factors.substr(4) + raw(32.F)), "rope_freqs.weight slows pair",
               "no other scaling is known");
}

}  // namespace
}  // namespace riesz::testing
