// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A folder with config.json and weights is gone on from at every layout, and only as what it is.
#include "riesz/app/models/pretrained.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../io/shared_folder.h"
#include "riesz/app/jobs/plan_memory.h"
#include "riesz/app/models/load_model.h"
#include "riesz/app/models/model.h"
#include "riesz/app/models/model_from.h"
#include "riesz/app/models/model_keys.h"
#include "riesz/app/models/model_shape.h"
#include "riesz/app/models/published_files.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/adder.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/models/upcycle.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/schema.h"
#include "saved_models.h"

namespace riesz::testing {
namespace {

using app::with_model_from;

/// Of a kind, in sizes that nothing divides, on all workers by dp.
Config sums_by(const std::string& kind) {
  Config config;
  config.model.kind = kind;
  config.model.layers = 3;
  config.model.heads = 4;
  config.model.width = 24;
  config.model.hidden = 31;
  config.model.tied = kind == "llama";
  if (kind == "llama" || kind == "mixtral" || kind == "qwen2_moe") config.model.key_value_heads = 2;
  if (kind == "mixtral" || kind == "qwen2_moe" || kind == "gpt2_moe")
    config.model.experts = 3, config.model.balance_weight = 0.25;
  if (kind == "gpt2_moe") config.model.capacity_factor = 1.5, config.model.z_weight = 0.125;
  if (kind == "gptj") config.model.rotary_dims = 2;
  config.layout.dp = Runtime::size();
  return config;
}

TEST(Pretrained, IsOneCheckpointForAllRanks) {
  EXPECT_NO_THROW(app::check_taken_alike("runs/text/checkpoint-200"));
  if (Runtime::size() == 1) return;
  const std::string taken = Runtime::rank() == Runtime::size() - 1 ? "checkpoint-300" : "checkpoint-200";
  EXPECT_ERROR(app::check_taken_alike("runs/text/" + taken), "the model that is read");
}

TEST(Pretrained, ModelsOfAllKindsHaveTheirWeightsAtEveryLayout) {
  for (const char* kind : {"gpt2", "gptj", "llama", "mixtral", "qwen2_moe", "gpt2_moe"}) {
    const SharedFolder folder;
    Config first = sums_by(kind);
    first.train.seed = 5;
    save_as(folder.path() / "model", first);
    for (Config drawn : layouts_on_all(first)) {
      Config config = drawn;
      config.model = {};
      config.model.from = (folder.path() / "model").string();
      config.train.seed = 6;
      config = with_model_from(config);
      EXPECT_EQ(config.model.kind, kind);
      EXPECT_EQ(config.model.width, 24);
      check_config(config, Runtime::size());
      const Kept is(config), was(drawn);
      const auto shape = [](const Config& of) { return app::model_shape(of, Adder::vocabulary); };
      EXPECT_EQ(models::config_json(shape(config)), models::config_json(shape(drawn)));
      expect_same_values(is, was);
    }
  }
}

/// Each expert has the values of the dense MLP, on whichever workers; routers are drawn; and no more is read.
TEST(Pretrained, BecomesAModelWithExpertsAtEveryLayout) {
  for (const char* kind : {"gpt2", "llama"}) {
    const SharedFolder folder;
    const Config first = sums_by(kind);
    save_as(folder.path() / "model", first);
    std::map<std::string, at::Tensor> dense;
    const Kept was(first);
    for (const Parameter& each : was.model.module().parameters())
      dense[each.name()] = full_tensor(each.get());
    for (Config drawn : layouts_on_all(first)) {
      if (drawn.precision != "fp32") continue;
      drawn.model = {};
      drawn.model.from = (folder.path() / "model").string(), drawn.model.upcycle = true;
      drawn.model.experts = 3;
      drawn.origins = {{"model.experts", "x.toml"}, {"model.upcycle", "x.toml"}};
      const Config config = with_model_from(drawn);
      EXPECT_EQ(config.model.kind, kind == std::string("gpt2") ? "gpt2_moe" : "mixtral");
      check_config(config, Runtime::size());
      const Kept is(config);
      const models::CausalConfig shape = app::model_shape(config, Adder::vocabulary);
      std::map<std::string, std::string> dense_name;
      for (const auto& [name, value] : dense)
        for (std::int64_t e = -1; e < 3; ++e)
          dense_name[models::upcycled_name(shape, name, e < 0 ? std::nullopt : std::optional(e))] = name;
      const std::string expert = "model.layers.1.block_sparse_moe.experts.2.", mlp = "model.layers.1.mlp.";
      if (config.model.kind == "mixtral") {
        EXPECT_EQ(dense_name.at(expert + "w1.weight"), mlp + "gate_proj.weight");
        EXPECT_EQ(dense_name.at(expert + "w2.weight"), mlp + "down_proj.weight");
        EXPECT_EQ(dense_name.at(expert + "w3.weight"), mlp + "up_proj.weight");
      }
      for (const Parameter& each : is.model.module().parameters()) {
        const at::Tensor value = full_tensor(each.get());
        if (value.numel() == 0) continue;  // of another stage
        const bool router = models::part_of_upcycled(each.name()).kind == models::UpcycledPart::Kind::router;
        const at::Tensor from = router ? value : dense.at(dense_name.at(each.name()));
        EXPECT_TRUE(at::equal(value.flatten(), from.flatten())) << each.name();
        EXPECT_TRUE(!router || value.abs().max().item<double>() > 0) << each.name();
      }
    }
  }
}

/// As Hugging Face's GPT-2 is published: of the model below the output layer, with its masks.
TEST(Pretrained, ReadsFilesWithoutThePrefixAndWithMasks) {
  const SharedFolder folder;
  Config config = sums_by("gpt2");
  config.model.tied = true;
  const auto task = make_task(config);
  const app::HeldModel model = app::make_model(config, *task);
  State state = state_of_values(model.module().parameters());
  Shapes shapes;
  const std::string prefix = "transformer.";
  for (StateView& view : state) view.name = view.name.substr(prefix.size());
  for (const auto& [name, shape] : published_shapes(model.module().parameters()))
    shapes[name.substr(prefix.size())] = shape;
  StateView mask = state.front();
  mask.name = "h.0.attn.bias";
  state.push_back(mask);
  const Partition job = Partition::world().grid(job_axes(config.layout));
  save_checkpoint(
      folder.path() / "model", job,
      {state, shapes, app::published_files(config, app::model_shape(config, task->vocabulary()))});

  Config other = config;
  other.model.from = (folder.path() / "model").string();
  other.train.seed = 9;
  expect_same_values(Kept(with_model_from(other)), Kept(config));
}

/// A folder with a config.json alone, which says what keys may say.
class OnlyConfig {
 public:
  explicit OnlyConfig(const Config& config) : folder_(mine_.path() / "model") {
    mine_.write("model/config.json", models::config_json(app::model_shape(config, 10)));
  }
  Config gone_on_from(const std::map<std::string, std::string>& origins = {}) const {
    Config config;
    config.model.from = folder_.string();
    config.origins = origins;
    return config;
  }

 private:
  TemporaryFolder mine_;
  std::filesystem::path folder_;
};

/// A config.json, what its model's keys are, and what these say; no value is a default.
TEST(PretrainedAlone, KeysSayWhatTheyAreToldBack) {
  const models::MinGptConfig gpt2{.layers = 5,
                                  .heads = 4,
                                  .width = 24,
                                  .hidden = 31,
                                  .context = 7,
                                  .dropout = 0.25,
                                  .activation = "silu",
                                  .epsilon = 3e-6,
                                  .tied = true};
  const models::GptJConfig gptj{.layers = 5,
                                .heads = 4,
                                .width = 24,
                                .hidden = 31,
                                .context = 7,
                                .rotary_dims = 2,
                                .embedding_dropout = 0.25,
                                .attention_dropout = 0.25,
                                .residual_dropout = 0.25,
                                .activation = "silu",
                                .epsilon = 3e-6};
  const models::LlamaConfig llama{.layers = 5,
                                  .heads = 4,
                                  .key_value_heads = 2,
                                  .width = 24,
                                  .hidden = 31,
                                  .context = 7,
                                  .rotary_base = 5000,
                                  .activation = "gelu",
                                  .epsilon = 3e-6,
                                  .tied = false};
  const models::VitConfig vit{.layers = 5,
                              .heads = 4,
                              .width = 24,
                              .hidden = 31,
                              .image = 30,
                              .patch = 5,
                              .channels = 2,
                              .dropout = 0.25,
                              .attention_dropout = 0.25,
                              .activation = "silu",
                              .epsilon = 3e-6};
  const auto told_back = [](const std::string& config_json) {
    const models::ModelConfig is = models::model_config(config_json);
    Config::Model keys = app::keys_of(is);
    keys.dropout = app::dropout_of(is);
    EXPECT_EQ(keys.width, 24);
    return keys.kind == "vit" ? models::config_json(app::image_shape(keys))
                              : models::config_json(app::text_shape(keys));
  };
  for (const std::string& text : {models::config_json(gpt2), models::config_json(gptj),
                                  models::config_json(llama), models::config_json(vit)})
    EXPECT_EQ(told_back(text), text);
}

/// As of a model whose keys say the same.
TEST(PretrainedAlone, ItsMemoryIsPlannedBySizesOfItsOwn) {
  Config keys = sums_by("llama");
  keys.model.layers = 5;
  const OnlyConfig folder(keys);
  Config from = folder.gone_on_from();
  from.layout.dp = keys.layout.dp;
  Config said = from;
  said.model = keys.model;
  ASSERT_NE(keys.model.layers, Config().model.layers);
  EXPECT_EQ(app::memory_plan(from, {.memory = 100.0}), app::memory_plan(said, {.memory = 100.0}));
}

TEST(PretrainedAlone, WhatIsSaidOtherwiseIsNamed) {
  const OnlyConfig folder(sums_by("llama"));
  Config config = folder.gone_on_from({{"model.width", "x.toml"}, {"model.key_value_heads", kCommandLine}});
  config.model.width = 24, config.model.key_value_heads = 2;
  EXPECT_EQ(with_model_from(config).model.hidden, 31);
  config.model.key_value_heads = 4;
  EXPECT_ERROR(with_model_from(config), "model.key_value_heads = 4 (on the command line), but model.from = ",
               "has 2; remove model.key_value_heads, which");
  config.model.width = 32;
  EXPECT_ERROR(with_model_from(config), "has 2; model.width = 32 (in x.toml), but it has 24; remove",
               "remove model.key_value_heads, model.width, which its config.json says");
  config = folder.gone_on_from({{"model.dropout", "x.toml"}});
  EXPECT_ERROR(with_model_from(config), "model.dropout is set in x.toml, which is read only with",
               "but model.kind is \"llama\"");
  config = folder.gone_on_from();
  EXPECT_ERROR(app::check_tokens(config, 256), "data.task = \"adder\" (the default) has 256 tokens",
               "has 10;");
}

TEST(PretrainedAlone, DropoutGoesOverTheFolders) {
  const OnlyConfig folder(sums_by("gpt2"));
  Config config = folder.gone_on_from({{"model.dropout", "x.toml"}});
  config.model.dropout = 0.25;
  const auto shape = std::get<models::MinGptConfig>(app::model_shape(with_model_from(config), 1));
  EXPECT_EQ(shape.attention_dropout, 0.25);
  EXPECT_EQ(shape.vocabulary, 10);
  EXPECT_EQ(app::dropout_of(app::model_shape(with_model_from(folder.gone_on_from()), 1)), 0);

  // Also where the folder has several, and the key says one of them.
  const TemporaryFolder uneven;
  auto several = std::get<models::MinGptConfig>(app::model_shape(sums_by("gpt2"), 10));
  several.embedding_dropout = several.attention_dropout = 0.1;
  uneven.write("config.json", models::config_json(several));
  config.model.from = uneven.path().string();
  config.model.dropout = 0;
  EXPECT_EQ(std::get<models::MinGptConfig>(app::model_shape(with_model_from(config), 1)).attention_dropout,
            0);
  config.origins.clear();  // and what is written down says it only then
  EXPECT_EQ(to_toml(with_model_from(config)).find("dropout"), std::string::npos);
}

/// As transformers has it, the folder says whether the balance is added; a key may say otherwise.
TEST(PretrainedAlone, TheBalanceOfExpertsGoesOverTheFolders) {
  Config keys = sums_by("mixtral");
  const auto shape = [](const Config& config) {
    return std::get<models::MixtralConfig>(app::model_shape(with_model_from(config), 1));
  };
  for (const double folders : {0.25, 0.0}) {
    keys.model.balance_weight = folders;
    const OnlyConfig folder(keys);
    EXPECT_EQ(shape(folder.gone_on_from()).balanced, folders > 0);
    EXPECT_EQ(with_model_from(folder.gone_on_from()).model.balance_weight, folders);
    for (const double said : {0.5, 0.0}) {
      Config config = folder.gone_on_from({{"model.balance_weight", kCommandLine}});
      config.model.balance_weight = said;
      const models::MixtralConfig of = shape(config);
      EXPECT_EQ(of.balanced, said > 0);
      EXPECT_EQ(of.balance_weight, said > 0 ? said : folders > 0 ? folders : 0.02);
      const std::string saved = app::published_files(with_model_from(config), of).at("config.json");
      EXPECT_EQ(models::mixtral_config(saved).balanced, said > 0);
    }
  }
  const OnlyConfig dense(sums_by("llama"));
  const Config config = dense.gone_on_from({{"model.balance_weight", "x.toml"}});
  EXPECT_ERROR(with_model_from(config), "model.balance_weight is set in x.toml, which is read only with");
}

TEST(PretrainedAlone, WhatCannotGetExpertsIsNamed) {
  const auto upcycled = [](const std::string& kind, std::map<std::string, std::string> origins = {}) {
    const OnlyConfig folder(sums_by(kind));
    Config config = folder.gone_on_from(origins);
    config.model.upcycle = true;
    return with_model_from(config);
  };
  EXPECT_ERROR(upcycled("gptj"), "a \"gptj\" does not become a model with experts",
               "; model.upcycle asks for experts");
  EXPECT_ERROR(upcycled("mixtral"), "a \"mixtral\" does not become");
  EXPECT_ERROR(upcycled("llama", {{"model.experts_every", "x.toml"}}), "model.experts_every is set in x.toml",
               "model.kind = \"gpt2_moe\"", "but model.kind is \"mixtral\"");
  Config config = sums_by("llama");
  config.model.upcycle = true;
  EXPECT_ERROR(check_config(config, Runtime::size()), "model.upcycle = true", "model.from names none");
}

/// The file that trained a dense model says its kind; a word then asks for experts.
TEST(PretrainedAlone, AModelThatGetsExpertsMaySayWhatItWas) {
  const auto kind_of = [](const std::string& dense, const std::string& said) {
    const OnlyConfig folder(sums_by(dense));
    Config config = folder.gone_on_from({{"model.kind", "x.toml"}});
    config.model.kind = said, config.model.upcycle = true;
    config = with_model_from(config);
    EXPECT_NE(config.origins.at("model.kind"), "x.toml");
    return config.model.kind;
  };
  EXPECT_EQ(kind_of("gpt2", "gpt2"), "gpt2_moe");
  EXPECT_EQ(kind_of("gpt2", "gpt2_moe"), "gpt2_moe");
  EXPECT_EQ(kind_of("llama", "llama"), "mixtral");
  EXPECT_ERROR(kind_of("gpt2", "llama"), "model.kind = \"llama\" (in x.toml), but model.from = ",
               "has \"gpt2\", which becomes a \"gpt2_moe\"; remove model.kind");
}

TEST(PretrainedAlone, WhatAsksForExpertsIsToldHowADenseModelGetsThem) {
  const OnlyConfig llama(sums_by("llama"));
  EXPECT_ERROR(with_model_from(llama.gone_on_from({{"model.experts", "x.toml"}})),
               "but model.kind is \"llama\"; remove it", "or set model.upcycle=true");
  EXPECT_ERROR(with_model_from(OnlyConfig(sums_by("gptj")).gone_on_from({{"model.experts", "x.toml"}})),
               "but model.kind is \"gptj\"; remove it");
  Config config = llama.gone_on_from();
  config.layout.ep = 2;
  EXPECT_ERROR(check_config(with_model_from(config), 2), "has none; set layout.ep to 1",
               "or set model.upcycle=true");
}

TEST(PretrainedAlone, WhatCannotShareOutExpertsIsNamed) {
  const auto loaded = [](const std::string& kind, const std::string& tensor) {
    const OnlyConfig folder(sums_by(kind));
    app::load_model({.folder = folder.gone_on_from().model.from, .ep = 2, .tensor = tensor});
  };
  EXPECT_ERROR(loaded("gpt2", "1d"), "layout.ep = 2 workers share out experts", "has none");
  EXPECT_ERROR(loaded("mixtral", "2d"), "layout.ep = 2 workers share each layer",
               "layout.tensor = \"2d\" does not let them; set layout.tensor to 1d or sp");
}

TEST(PretrainedAlone, WhatIsSavedSaysHowItIsGivenAConversation) {
  const TemporaryFolder folder;
  folder.write("config.json", models::config_json(app::model_shape(sums_by("gpt2"), 10)));
  folder.write("chat_template.jinja", "{{ messages[0].content }}");
  Config config;
  config.model.from = folder.path().string();
  config = with_model_from(config);
  const auto files = app::published_files(config, app::model_shape(config, 10));
  EXPECT_EQ(files.at("chat_template.jinja"), "{{ messages[0].content }}");
}

TEST(PretrainedAlone, WhatIsNoModelIsRefused) {
  const TemporaryFolder folder;
  EXPECT_ERROR(app::read_pretrained(folder.path()), "has neither a config.json", "; the folder is empty");
  folder.write("notes.txt", "none");
  EXPECT_ERROR(app::read_pretrained(folder.path()), "nor a training's checkpoint-STEP; it has notes.txt");
  folder.write("checkpoint-3/config.json", "{}");
  EXPECT_ERROR(app::read_pretrained(folder.path()), "so says", "checkpoint-3/config.json");
  folder.write("config.json", R"({"model_type": "bert"})");
  EXPECT_ERROR(app::read_pretrained(folder.path()), "model_type is \"bert\"", "of images, \"vit\"", "so says",
               "config.json");
  EXPECT_ERROR(app::read_pretrained("no/such/folder"), "there is no folder \"no/such/folder\"", "no name");
}

}  // namespace
}  // namespace riesz::testing
