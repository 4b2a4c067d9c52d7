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
  Rows reads(const Rows& images) const override { return patches_of(images.whole(), config_); }
  Vector logits(const Vector& inputs) override { return model_(inputs); }

 private:
  VitConfig config_;
  Vit model_;
};

/// Of a kind that is given images as they are.
template <typename Model, Space (Model::*images_of)() const>
class SeeingPixels final : public ImageModel {
 public:
  template <typename Config>
  SeeingPixels(const Layout& layout, const Config& config) : model_(layout, config) {}
  Module& module() override { return model_; }
  Space inputs() const override { return (model_.*images_of)(); }
  Space targets() const override { return model_.targets(); }
  Rows reads(const Rows& images) const override { return images; }
  Vector logits(const Vector& inputs) override { return model_(inputs); }

 private:
  Model model_;
};

template <typename Model, auto reader, typename Config = decltype(reader(std::string()))>
PublishedImageModel seeing(std::string name, Seen seen, std::string (*rename)(const std::string&)) {
  return {.name = std::move(name),
          .seen = seen,
          .read = [](const std::string& text) -> ImageConfig { return reader(text); },
          .make = [](const Layout& layout, const ImageConfig& config) -> std::unique_ptr<ImageModel> {
            return std::make_unique<Model>(layout, std::get<Config>(config));
          },
          .rename = rename};
}

/// Of a kind of this library, whose files have its own names.
std::string as_stored(const std::string& stored) { return stored; }

const PublishedImageModel& kind_seeing(const ImageConfig& config) {
  return published_image_models()[config.index()];
}

}  // namespace

const std::vector<PublishedImageModel>& published_image_models() {
  static const std::vector<PublishedImageModel> all{
      seeing<SeeingVit, vit_config>("vit", Seen::label, called_in_vit),
      seeing<SeeingPixels<Resnet, &Resnet::images>, resnet_config>("resnet", Seen::label, called_in_resnet),
      seeing<SeeingPixels<Unet, &Unet::images>, unet_config>("unet", Seen::pixels, as_stored),
      seeing<SeeingPixels<FourierNeuralOperator, &FourierNeuralOperator::inputs>,
             fourier_neural_operator_config>("fno", Seen::field, as_stored),
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

std::string kind_of(const ImageConfig& config) { return kind_seeing(config).name; }

std::string called_here(const ImageConfig& config, const std::string& stored) {
  return kind_seeing(config).rename(stored);
}

Seen seen_by(const ImageConfig& config) { return kind_seeing(config).seen; }

std::int64_t rows_of(const ImageConfig& config) {
  return std::visit(
      [](const auto& of) {
        if constexpr (requires { of.image; })
          return of.image;
        else
          return of.size;
      },
      config);
}

std::int64_t channels_of(const ImageConfig& config) {
  return std::visit(
      [](const auto& of) {
        if constexpr (requires { of.channels; })
          return of.channels;
        else
          return of.inputs;
      },
      config);
}

std::int64_t labels_of(const ImageConfig& config) {
  return std::visit(
      [](const auto& of) {
        if constexpr (requires { of.labels; })
          return of.labels;
        else
          return of.outputs;
      },
      config);
}

void set_labels(ImageConfig& config, std::int64_t labels) {
  std::visit(
      [labels](auto& of) {
        if constexpr (requires { of.labels; })
          of.labels = labels;
        else
          of.outputs = labels;
      },
      config);
}

std::unique_ptr<ImageModel> make_image_model(const Layout& layout, const ImageConfig& config) {
  return kind_seeing(config).make(layout, config);
}

}  // namespace riesz::models
