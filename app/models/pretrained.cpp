// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/pretrained.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/comm/simulation.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/hub_cache.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/models/label_names.h"
#include "riesz/models/upcycle.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/loop/run_folder.h"

namespace riesz::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTogether =
    "what is wanted is what its config.json says; take the weights and the config.json of one model";

/// Each worker reads its own parts.
void load(const Pretrained& from, const std::vector<Parameter>& parameters,
          const std::function<std::string(const std::string&)>& called) {
  check_taken_alike(from.folder);
  load_weights(from.folder, parameters, {.called = called, .remedy = kTogether, .finite = true});
}

/// A kind of models of images, as people write it.
std::string kind_shown(const std::string& kind) {
  if (kind == "unet") return "U-Net";
  if (kind == "fno") return "Fourier neural operator";
  return kind == "vit" ? "ViT" : "ResNet";
}

/// Nothing of a folder that is a model's itself.
std::optional<ModelCheckpoint> checkpoint_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || fs::exists(path / "config.json", error)) return std::nullopt;
  return model_checkpoint_in(path);
}

/// Nothing where the folder does not say it.
std::optional<Preprocessing> preprocessing_in(const fs::path& folder, const models::ImageConfig& model,
                                              const std::function<void(const Preprocessing&)>& check) {
  const fs::path file = folder / kPreprocessor;
  if (!is_there(file)) return std::nullopt;
  try {
    const Preprocessing shown = preprocessing_of(bytes_of_file(file), models::channels_of(model));
    check(shown);
    return shown;
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; so says ", in_quotes(file.string()),
                       "; change it; a training may do without it, and say by data.* keys what the model is "
                       "shown"));
  }
}

/// A ResNet takes images of any size, so Hugging Face's config.json says none: then it is that of the images
/// that the folder's preprocessing makes.
void take_size(Pretrained& from) {
  auto* const images = std::get_if<models::ImageConfig>(&from.config);
  auto* const resnet = images == nullptr ? nullptr : std::get_if<models::ResnetConfig>(images);
  if (resnet == nullptr || nlohmann::json::parse(from.config_json).contains("image_size")) return;
  const auto any = [](const Preprocessing&) {};
  if (const auto shown = preprocessing_in(from.folder, *images, any)) resnet->image = shown->form.size;
}

}  // namespace

fs::path weights_of(const fs::path& path) {
  const auto model = checkpoint_of(path);
  return model ? model->folder : path;
}

void check_taken_alike(const fs::path& taken) {
  const std::string name = taken.filename().string();
  if (!Simulation::running())
    check_alike(Partition::world(), concat("the model that is read, ", in_quotes(name), ","), digest(name));
}

std::string taken_text(const fs::path& path) {
  const auto model = checkpoint_of(path);
  if (!model) return "";
  return concat("the model is that of ", in_quotes(model->folder.string()),
                model->best ? ", the best by held-out loss" : ", the last checkpoint",
                model->step < model->last_step ? concat("; the last one is of step ", model->last_step) : "",
                "\n");
}

Pretrained read_pretrained(const std::string& folder_or_name) {
  const fs::path folder = weights_of(model_folder(folder_or_name)), file = folder / "config.json";
  RIESZ_CHECK(is_plain_file(file), "the folder ", in_quotes(folder.string()),
              " has neither a config.json, which says of what kind and size its model is, nor a training's "
              "checkpoint-STEP",
              what_is_in(folder));
  const std::string text = bytes_of_file(file);
  Pretrained from{folder, text, {}};
  try {
    from.config = models::model_config(text);
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; so says ", in_quotes(file.string())));
  }
  take_size(from);
  return from;
}

const models::CausalConfig& text_config(const Pretrained& from) {
  const auto* const config = std::get_if<models::CausalConfig>(&from.config);
  if (config != nullptr) return *config;
  const models::ImageConfig& images = image_config(from);
  const bool labels = models::predicted_by(images) == Predicted::labels;
  throw_error(concat("the model in ", in_quotes(from.folder.string()), " is a ",
                     kind_shown(models::kind_of(images)),
                     labels ? ", which sees images, and here one of text is wanted; riesz classify says what "
                              "images show"
                            : ", and here a model of text is wanted; riesz predict says what it predicts"));
}

const models::ImageConfig& image_config(const Pretrained& from) {
  const auto* const config = std::get_if<models::ImageConfig>(&from.config);
  RIESZ_CHECK(config != nullptr, "the model in ", in_quotes(from.folder.string()), " is of text (a ",
              models::kind_of(text_config(from)), "), and here one of images is wanted, a ViT or a ResNet");
  return *config;
}

void load_pretrained(const Pretrained& from, models::CausalModel& model) {
  const auto called = [&](const std::string& stored) {
    return models::weight_name(text_config(from), stored);
  };
  load(from, model.module().parameters(), called);
}

void load_pretrained(const Pretrained& from, const Module& of_images, bool new_head) {
  const auto is_head = [](const std::string& name) { return name.starts_with("classifier."); };
  const StoredTensors stored(from.folder);
  const bool has_head =
      stored.find("classifier.weight") != nullptr || stored.find("classifier.1.weight") != nullptr;
  const models::ImageConfig& config = image_config(from);
  const bool labels = models::predicted_by(config) == Predicted::labels;
  RIESZ_CHECK(!new_head || labels, "the model in ", in_quotes(from.folder.string()), " is a ",
              kind_shown(models::kind_of(config)),
              ", which has no classifier; remove model.new_head, which draws one");
  RIESZ_CHECK(!labels || new_head || has_head, "the model in ", in_quotes(from.folder.string()),
              " has no classifier; a training with model.new_head=true draws one, and loads the rest");
  const auto called = [&](const std::string& name) {
    return new_head && is_head(name) ? "" : models::weight_name(config, name);
  };
  std::vector<Parameter> parameters = of_images.parameters();
  if (new_head) std::erase_if(parameters, [&](const Parameter& of) { return is_head(of.name()); });
  load(from, parameters, called);
}

void load_upcycled(const Pretrained& from, models::CausalModel& model) {
  using Kind = models::UpcycledPart::Kind;
  const models::CausalConfig& dense = text_config(from);
  std::map<std::int64_t, std::vector<Parameter>> parts;  // by expert, and −1: the rest
  for (const Parameter& each : model.module().parameters()) {
    const models::UpcycledPart part = models::part_of_upcycled(each.name());
    if (part.kind != Kind::router) parts[part.kind == Kind::rest ? -1 : part.expert].push_back(each);
  }
  for (const auto& [number, parameters] : parts) {
    const auto expert = number < 0 ? std::nullopt : std::optional(number);
    load(from, parameters, [&, expert](const std::string& stored) {
      const std::string name = models::weight_name(dense, stored);
      return name.empty() ? name : models::upcycled_name(model.config(), name, expert);
    });
  }
}

std::vector<std::string> label_names(const Pretrained& from) {
  try {
    return models::label_names(from.config_json);
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; so says ", in_quotes((from.folder / "config.json").string())));
  }
}

std::optional<Preprocessing> read_preprocessing(const Pretrained& from) {
  if (!is_there(from.folder / kPreprocessor)) return std::nullopt;
  const models::ImageConfig& model = image_config(from);
  return preprocessing_in(from.folder, model, [&](const Preprocessing& shown) {
    RIESZ_CHECK(shown.form.size == models::image_size(model), kPreprocessor, ": it makes images of ",
                shown.form.size, " pixels a side, and by config.json the model sees ",
                models::image_size(model));
  });
}

}  // namespace riesz::app
