// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/image_model.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz::models {
namespace {

class VitModel final : public ImageModel {
 public:
  VitModel(const Layout& layout, const VitConfig& config) : config_(config), model_(layout, config) {}
  Module& module() override { return model_; }
  Space inputs() const override { return model_.patches(); }
  Space targets() const override { return model_.targets(); }
  Rows inputs_of(const Rows& images) const override { return patches_of(images.whole(), config_); }
  Vector logits(const Vector& inputs) override { return model_(inputs); }

 private:
  VitConfig config_;
  Vit model_;
};

/// Of a kind that is given images as they are.
template <typename Model, Space (Model::*images_of)() const>
class PixelModel final : public ImageModel {
 public:
  template <typename Config>
  PixelModel(const Layout& layout, const Config& config) : model_(layout, config) {}
  Module& module() override { return model_; }
  Space inputs() const override { return (model_.*images_of)(); }
  Space targets() const override { return model_.targets(); }
  Rows inputs_of(const Rows& images) const override { return images; }
  Vector logits(const Vector& inputs) override { return model_(inputs); }

 private:
  Model model_;
};

template <typename Model, auto reader, typename Config = decltype(reader(std::string()))>
ImageModelKind kind(std::string name, Predicted predicted, std::string (*rename)(const std::string&)) {
  return {.name = std::move(name),
          .predicted = predicted,
          .read = [](const std::string& text) -> ImageConfig { return reader(text); },
          .make = [](const Layout& layout, const ImageConfig& config) -> std::unique_ptr<ImageModel> {
            return std::make_unique<Model>(layout, std::get<Config>(config));
          },
          .rename = rename};
}

/// Of a kind of this library, whose files have its own names.
std::string as_stored(const std::string& stored) { return stored; }

const ImageModelKind& image_model_kind(const ImageConfig& config) {
  return image_model_kinds()[config.index()];
}

}  // namespace

const std::vector<ImageModelKind>& image_model_kinds() {
  static const std::vector<ImageModelKind> all{
      kind<VitModel, vit_config>("vit", Predicted::labels, vit_weight_name),
      kind<PixelModel<Resnet, &Resnet::images>, resnet_config>("resnet", Predicted::labels,
                                                               resnet_weight_name),
      kind<PixelModel<Unet, &Unet::images>, unet_config>("unet", Predicted::pixels, as_stored),
      kind<PixelModel<FourierNeuralOperator, &FourierNeuralOperator::inputs>, fourier_neural_operator_config>(
          "fno", Predicted::fields, as_stored),
  };
  return all;
}

std::string image_model_kind_names() {
  std::string names;
  for (std::size_t i = 0; i < image_model_kinds().size(); ++i) {
    const bool last = i + 1 == image_model_kinds().size();
    names += concat(i == 0 ? "" : last ? " and " : ", ", '"', image_model_kinds()[i].name, '"');
  }
  return names;
}

ImageConfig image_config(const std::string& config_json) {
  const std::string kind = model_type_of(config_json);
  for (const ImageModelKind& each : image_model_kinds())
    if (each.name == kind) return each.read(config_json);
  throw_error(concat("config.json: model_type is \"", kind, "\"; the models of images there are here are ",
                     image_model_kind_names()));
}

std::string config_json(const ImageConfig& config, const std::vector<std::string>& names) {
  return std::visit([&](const auto& of) { return config_json(of, names); }, config);
}

std::string kind_of(const ImageConfig& config) { return image_model_kind(config).name; }

std::string weight_name(const ImageConfig& config, const std::string& stored) {
  return image_model_kind(config).rename(stored);
}

Predicted predicted_by(const ImageConfig& config) { return image_model_kind(config).predicted; }

std::int64_t image_size(const ImageConfig& config) {
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
  return image_model_kind(config).make(layout, config);
}

}  // namespace riesz::models
