// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A folder with a model of images is gone on from at every layout: with its classifier, or a new one.
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../io/images/idx_bytes.h"
#include "../io/shared_folder.h"
#include "riesz/app/models/model_from.h"
#include "riesz/app/models/model_shape.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/load_config.h"
#include "saved_models.h"

namespace riesz::testing {
namespace {

using app::with_model_from;

/// A folder with pictures of three labels, "0" to "2", and a model of sizes that nothing divides.
class PretrainedImages : public ::testing::Test {
 protected:
  PretrainedImages() {
    for (const std::string part : {"train", "t10k"}) {
      write(part + "-images-idx3-ubyte", idx_bytes({4, 8, 8}, std::string(4 * 8 * 8, '\x11')));
      write(part + "-labels-idx1-ubyte", idx_bytes({4}, std::string("\0\1\2\1", 4)));
    }
    first_.model.kind = "vit";
    first_.model.layers = 2, first_.model.heads = 3, first_.model.width = 18, first_.model.hidden = 20;
    first_.model.image = 8;
    first_.data.task = "images", first_.data.images = folder_.path().string();
    first_.layout.dp = Runtime::size();
    first_.train.seed = 5;
  }

  /// Alike on all.
  void write(const std::string& name, const std::string& bytes) const {
    wait_for_all(Partition::world());
    if (Runtime::rank() == 0) std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
    wait_for_all(Partition::world());
  }

  /// The same, gone on from the folder, where nothing of it is drawn as it was.
  Config gone_on(Config config, bool new_head = false) const {
    config.model = {};
    config.model.from = (folder_.path() / "model").string();
    config.model.new_head = new_head;
    config.train.seed = 6;
    config = with_model_from(config);
    check_config(config, Runtime::size());
    return config;
  }

  SharedFolder folder_;
  Config first_;
};

TEST_F(PretrainedImages, HaveTheirWeightsAtEveryLayout) {
  save_as(folder_.path() / "model", first_);
  for (const Config& drawn : layouts_on_all(first_)) {
    const Config config = gone_on(drawn);
    EXPECT_EQ(config.model.kind, "vit");
    EXPECT_EQ(config.model.patch, 4);
    const Kept is(config), was(drawn);
    EXPECT_EQ(models::config_json(app::image_model_shape(config, 3)),
              models::config_json(app::image_model_shape(drawn, 3)));
    expect_same_values(is, was);
  }
}

/// The parameters of the classifier are those of `head`, all others those of `rest`.
void expect_new_head(const Kept& is, const Kept& head, const Kept& rest) {
  const auto parameters = [](const Kept& of) { return of.model.module().parameters(); };
  for (std::size_t i = 0; i < parameters(is).size(); ++i) {
    const Parameter parameter = parameters(is)[i];
    const bool is_head = parameter.name().starts_with("classifier.");
    const Kept& same = is_head ? head : rest;
    EXPECT_TRUE(at::equal(parameter.get().local(), parameters(same)[i].get().local())) << parameter.name();
  }
}

TEST_F(PretrainedImages, HaveANewHeadForOtherLabels) {
  save_as(folder_.path() / "model", first_);
  std::ifstream file(folder_.path() / "model/config.json");
  auto other = nlohmann::json::parse(file);
  other["id2label"] = {{"0", "cat"}, {"1", "2"}};
  other["pooler_act"] = "tanh";
  write("model/config.json", other.dump());
  EXPECT_ERROR(
      make_task(gone_on(first_)), "data.images = ", " has other labels than the classifier of model.from = ",
      "the images alone have \"0\", \"1\", the classifier alone \"cat\";", "set model.new_head=true");

  for (const Config& layout : layouts_on_all(first_)) {
    Config config = gone_on(layout, true);
    config.checkpoint.every = 1;
    Config head = layout;
    head.train.seed = 6;
    const Kept is(config);
    expect_new_head(is, Kept(head), Kept(layout));
    const auto saved = nlohmann::json::parse(is.model.learner.files.at("config.json"));
    EXPECT_EQ(saved["id2label"], (nlohmann::json{{"0", "0"}, {"1", "1"}, {"2", "2"}}));
    EXPECT_EQ(saved["pooler_act"], "tanh") << "what is not read stays";
  }
}

/// As Hugging Face publishes a ViTModel: without the prefix and a classifier, with a pooler.
TEST_F(PretrainedImages, OfTheModelBelowTheClassifierAreRead) {
  const auto task = make_task(first_);
  const app::HeldModel model = app::make_model(first_, *task);
  State state;
  Shapes shapes;
  const std::string prefix = "vit.";
  for (StateView view : state_of_values(model.module().parameters())) {
    if (!view.name.starts_with(prefix)) continue;
    view.name = view.name.substr(prefix.size());
    state.push_back(view);
  }
  for (const auto& [name, shape] : published_shapes(model.module().parameters()))
    shapes[name.substr(std::min(prefix.size(), name.size()))] = shape;
  StateView pooler = state.front();
  pooler.name = "pooler.dense.bias";
  state.push_back(pooler);
  const Partition job = Partition::world().grid(job_axes(first_.layout));
  const std::string config = models::config_json(app::image_model_shape(first_, 3), {"0", "1", "2"});
  save_checkpoint(folder_.path() / "model", job, {state, shapes, {{"config.json", config}}});

  EXPECT_ERROR(Kept(gone_on(first_)), "has no classifier; a training with model.new_head=true");
  Config head = first_;
  head.train.seed = 6;
  expect_new_head(Kept(gone_on(first_, true)), Kept(head), Kept(first_));
}

TEST_F(PretrainedImages, AreShownAsTheFolderSays) {
  Config drawn = first_;
  drawn.data.mean = "0.25", drawn.data.fit = "stretch", drawn.data.resize = 12;
  save_as(folder_.path() / "model", drawn);
  Config config = gone_on(first_);
  EXPECT_EQ(config.data.mean, "0.25");
  EXPECT_EQ(config.data.resize, 12);
  EXPECT_EQ(config.data.fit, "stretch");
  EXPECT_TRUE(
      at::equal(make_task(config)->batch(0, 4).inputs.whole(), make_task(drawn)->batch(0, 4).inputs.whole()));
  // What is saved has what the folder had, to the letter.
  config.checkpoint.every = 1;
  const std::string file = "preprocessor_config.json";
  write("model/" + file, files_of(folder_.path() / "model").at(file) + "\n");
  EXPECT_EQ(Kept(config).model.learner.files.at(file), files_of(folder_.path() / "model").at(file));

  config = first_;
  config.origins = {{"data.mean", "x.toml"}, {"data.resize", "x.toml"}};
  config.data.mean = "0.250", config.data.resize = 12;
  gone_on(config);
  config.data.resize = 9, config.data.mean = "0";
  EXPECT_ERROR(gone_on(config), "data.mean = \"0\" (in x.toml), but model.from = ",
               " has \"0.25\"; data.resize = 9 (in x.toml), but it has 12; remove data.mean, data.resize, ",
               "which its preprocessor_config.json says");

  write("model/" + file, R"({"size": 12, "image_mean": 0.5, "image_std": 0.5})");
  EXPECT_ERROR(gone_on(first_), "it makes images of 12 pixels a side, and by config.json the model sees 8",
               "; so says \"", "a training may do without it");
}

/// Hugging Face's config.json of a ResNet says no size: images are as the folder's preprocessing makes them,
/// or as a key says.
TEST_F(PretrainedImages, OfAResnetAreOfAnySize) {
  first_.model = {};
  first_.model.kind = "resnet", first_.model.activation = "relu";
  first_.model.depths = {1}, first_.model.widths = {6}, first_.model.stem = 4, first_.model.image = 8;
  save_as(folder_.path() / "model", first_);
  auto unsized = nlohmann::json::parse(files_of(folder_.path() / "model").at("config.json"));
  unsized.erase("image_size");
  write("model/config.json", unsized.dump());
  const auto size = [&] {
    return models::image_size(app::image_config(app::read_pretrained((folder_.path() / "model").string())));
  };
  EXPECT_EQ(size(), 8);

  Config larger = first_;
  larger.model = {};
  larger.model.from = (folder_.path() / "model").string();
  larger.model.image = 12, larger.origins["model.image"] = kCommandLine;
  larger = with_model_from(larger);
  check_config(larger, Runtime::size());
  EXPECT_EQ(models::image_size(app::image_model_shape(larger, 3)), 12);
  const Kept kept(larger);
  expect_same_values(kept, Kept(gone_on(first_)));
  const auto file = [&](const char* name) {
    return nlohmann::json::parse(kept.model.learner.files.at(name));
  };
  EXPECT_EQ(file("config.json")["image_size"], 12);
  EXPECT_EQ(preprocessing_of(file("preprocessor_config.json").dump(), 1).form.size, 12);

  wait_for_all(Partition::world());
  if (Runtime::rank() == 0) std::filesystem::remove(folder_.path() / "model/preprocessor_config.json");
  wait_for_all(Partition::world());
  EXPECT_EQ(size(), 224);
}

/// A Fourier neural operator goes on from its weights on another grid, and its checkpoint says which.
TEST(PretrainedFields, GoOnOnAnotherGrid) {
  const SharedFolder folder;
  Config first;
  first.model.kind = "fno", first.model.image = 8;
  first.model.layers = 1, first.model.width = 4, first.model.modes = {2, 2};
  first.data.task = "darcy", first.data.count = 4, first.data.held_out = 0.25;
  first.layout.dp = Runtime::size();
  save_as(folder.path() / "model", first);
  Config finer = first;
  finer.model = {};
  finer.model.from = (folder.path() / "model").string();
  finer.model.image = 12, finer.origins["model.image"] = kCommandLine;
  finer = with_model_from(finer);
  check_config(finer, Runtime::size());
  const Kept kept(finer);
  expect_same_values(kept, Kept(first));
  EXPECT_EQ(nlohmann::json::parse(kept.model.learner.files.at("config.json"))["grid_size"], 12);
  finer.model.image = 2;  // with fewer frequencies than it mixes
  EXPECT_ERROR(check_config(finer, Runtime::size()), "model.modes = [2, 2]", "has more than half of");
}

TEST_F(PretrainedImages, WhatIsSaidOtherwiseIsNamed) {
  const models::VitConfig sizes{.layers = 2, .heads = 3, .width = 18, .image = 8, .patch = 4, .labels = 2};
  write("config.json", models::config_json(sizes));
  Config config;
  config.model.from = folder_.path().string();
  EXPECT_EQ(with_model_from(config).labels, (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
  config.layout.dp = Runtime::size();
  EXPECT_ERROR(check_config(with_model_from(config), Runtime::size()),
               "data.task = \"adder\" (the default) does not go with model.kind = \"vit\" (in ",
               "set data.task to \"images\"");
  config.model.patch = 2;
  config.origins["model.patch"] = kCommandLine;
  EXPECT_ERROR(with_model_from(config), "model.patch = 2 (on the command line), but model.from = ",
               "has 4; remove model.patch, which its config.json says");
  config.origins = {{"model.context", "x.toml"}};
  EXPECT_ERROR(with_model_from(config), "model.context is set in x.toml, which is read only with",
               "but model.kind is \"vit\"");
  config.origins = {{"model.new_head", "x.toml"}};
  config.model.from.clear(), config.model.new_head = true;
  EXPECT_ERROR(check_config(config, Runtime::size()), "model.new_head = true (in x.toml)", "remove it");
  EXPECT_ERROR(app::text_config(app::read_pretrained(folder_.path())), "is a ViT, which sees images");
}

}  // namespace
}  // namespace riesz::testing
