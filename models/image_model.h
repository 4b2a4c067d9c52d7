// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "riesz/io/rows.h"
#include "riesz/models/configs.h"
#include "riesz/nn/loss/predicted.h"

namespace riesz::models {

/// The sizes of a model of images or fields, of any kind in this library, in the order of
/// `image_model_kinds`.
using ImageConfig = std::variant<VitConfig, ResnetConfig, UnetConfig, FourierNeuralOperatorConfig>;

/// Reads the text of a config.json.
/// @throws Error naming the known kinds where its model_type is none of them; also as that kind's reader.
ImageConfig image_config(const std::string& config_json);
/// `names`: as `config_json` of a ViT.
std::string config_json(const ImageConfig& config, const std::vector<std::string>& names = {});

/// The model_type of its config.json: "vit", "resnet", "unet" or "fno".
std::string kind_of(const ImageConfig& config);
/// The name in this model for a tensor of Hugging Face's files; "" where a tensor is no weight of the model.
std::string weight_name(const ImageConfig& config, const std::string& stored);

/// What such a model predicts of an image or a field.
Predicted predicted_by(const ImageConfig& config);

// What all kinds have.
std::int64_t image_size(const ImageConfig& config);   ///< rows and columns of an image or a field
std::int64_t channels_of(const ImageConfig& config);  ///< of what it is given
std::int64_t labels_of(const ImageConfig& config);    ///< or the channels of the field that it predicts
void set_labels(ImageConfig& config, std::int64_t labels);

/// A model of images or fields, of any kind.
class ImageModel {
 public:
  virtual ~ImageModel() = default;

  virtual Module& module() = 0;
  /// The space of its inputs, which `inputs_of` makes of images; that of its targets: labels of (B), or of
  /// pixels (B, size, size), or fields of (B, channels, size, size).
  virtual Space inputs() const = 0;
  virtual Space targets() const = 0;
  /// Its inputs for images of (B, channels, size, size). Local; each image by itself.
  virtual Rows inputs_of(const Rows& images) const = 0;
  /// A vector in inputs() → logits: those of targets(), and a dim of labels behind; or fields in targets().
  virtual Vector logits(const Vector& inputs) = 0;
};

/// One kind of image model: how its config.json is read, and how it is made.
struct ImageModelKind {
  std::string name;  ///< model_type of its config.json
  Predicted predicted;
  std::function<ImageConfig(const std::string& config_json)> read;
  std::function<std::unique_ptr<ImageModel>(const Layout& layout, const ImageConfig& config)> make;
  /// As `weight_name`.
  std::function<std::string(const std::string& stored)> rename;
};

const std::vector<ImageModelKind>& image_model_kinds();
/// Their names for messages: "a" and "b".
std::string image_model_kind_names();

/// The model of these sizes, without weights. Local. @throws Error where the sizes do not fit one another.
std::unique_ptr<ImageModel> make_image_model(const Layout& layout, const ImageConfig& config);

}  // namespace riesz::models
