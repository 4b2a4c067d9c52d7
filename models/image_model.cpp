// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/image_model.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz::models {
namespace {

class SeeingVit final : public ImageModel {
 public:
  SeeingVit(const Layout& layout, const VitConfig& config) : config_(config), model_(layout, config) {}
  Module& module() override { return model_; }
  Space inputs() const override { return model_.patches(); }
  Space targets() const override { return model_.targets(); }
  at::Tensor reads(const at::Tensor& images) const override { return patches_of(images, config_); }
  Vector logits(const Vector& inputs) override { return model_(inputs); }

 private:
  VitConfig config_;
  Vit model_;
};

class SeeingResnet final : public ImageModel {
 public:
  SeeingResnet(const Layout& layout, const ResnetConfig& config) : model_(layout, config) {}
  Module& module() override { return model_; }
  Space inputs() const override { return model_.images(); }
  Space targets() const override { return model_.targets(); }
  at::Tensor reads(const at::Tensor& images) const override { return images; }
  Vector logits(const Vector& inputs) override { return model_(inputs); }

 private:
  Resnet model_;
};

template <typename Model, auto reader, typename Config = decltype(reader(std::string()))>
PublishedImageModel seeing(std::string name, std::string (*rename)(const std::string&)) {
  return {.name = std::move(name),
          .read = [](const std::string& text) -> ImageConfig { return reader(text); },
          .make = [](const Layout& layout, const ImageConfig& config) -> std::unique_ptr<ImageModel> {
            return std::make_unique<Model>(layout, std::get<Config>(config));
          },
          .rename = rename};
}

const PublishedImageModel& seen_by(const ImageConfig& config) {
  return published_image_models()[config.index()];
}

}  // namespace

const std::vector<PublishedImageModel>& published_image_models() {
  static const std::vector<PublishedImageModel> all{
      seeing<SeeingVit, vit_config>("vit", called_in_vit),
      seeing<SeeingResnet, resnet_config>("resnet", called_in_resnet),
  };
  return all;
}

std::string published_image_names() {
  std::string names;
  for (std::size_t i = 0; i < published_image_models().size(); ++i) {
    const bool last = i + 1 == published_image_models().size();
    names += concat(i == 0 ? "" : last ? " and " : ", ", '"', published_image_models()[i].name, '"');
  }
  return names;
}

ImageConfig image_config(const std::string& config_json) {
  const std::string kind = model_type_of(config_json);
  for (const PublishedImageModel& each : published_image_models())
    if (each.name == kind) return each.read(config_json);
  throw_error(concat("config.json: model_type is \"", kind, "\"; the models of images there are here are ",
                     published_image_names()));
}

std::string config_json(const ImageConfig& config, const std::vector<std::string>& names) {
  return std::visit([&](const auto& of) { return config_json(of, names); }, config);
}

std::string kind_of(const ImageConfig& config) { return seen_by(config).name; }

std::string called_here(const ImageConfig& config, const std::string& stored) {
  return seen_by(config).rename(stored);
}

std::int64_t rows_of(const ImageConfig& config) {
  return std::visit([](const auto& of) { return of.image; }, config);
}

std::int64_t channels_of(const ImageConfig& config) {
  return std::visit([](const auto& of) { return of.channels; }, config);
}

std::int64_t labels_of(const ImageConfig& config) {
  return std::visit([](const auto& of) { return of.labels; }, config);
}

void set_labels(ImageConfig& config, std::int64_t labels) {
  std::visit([labels](auto& of) { of.labels = labels; }, config);
}

std::unique_ptr<ImageModel> make_image_model(const Layout& layout, const ImageConfig& config) {
  return seen_by(config).make(layout, config);
}

}  // namespace riesz::models
