// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The config.json of models that are kinds of this library: U-Net and the Fourier neural operator.
#include "riesz/models/config_parts.h"
#include "riesz/models/configs.h"

namespace riesz::models {

UnetConfig unet_config(const std::string& config_json) {
  detail::ConfigReader config(config_json, "unet");
  UnetConfig of;
  of.levels = config.size("num_levels", {}, 16);
  of.width = config.size("hidden_size");
  of.image = config.size("image_size", {}, detail::kMostPixels);
  of.channels = config.size("num_channels");
  of.labels = detail::labels_said(config);
  config.done();
  of.roles();  // throws where sizes do not fit each other
  return of;
}

std::string config_json(const UnetConfig& config, const std::vector<std::string>& names) {
  const auto [by_number, by_name] = detail::label_tables(config.labels, names);
  return detail::text_of({{"model_type", "unet"},
                          {"num_levels", config.levels},
                          {"hidden_size", config.width},
                          {"image_size", config.image},
                          {"num_channels", config.channels},
                          {"id2label", by_number},
                          {"label2id", by_name}});
}

FourierNeuralOperatorConfig fourier_neural_operator_config(const std::string& config_json) {
  detail::ConfigReader config(config_json, "fno");
  FourierNeuralOperatorConfig of;
  of.layers = config.size("num_hidden_layers", {}, detail::kMostLayers);
  of.width = config.size("hidden_size");
  of.modes = detail::read_each(config, "modes", of.modes, detail::kMostPixels);
  of.hidden = config.size("projection_size");
  of.size = config.size("grid_size", {}, detail::kMostPixels);
  of.inputs = config.size("num_inputs");
  of.outputs = config.size("num_outputs");
  config.done();
  of.roles();  // throws where sizes do not fit each other
  return of;
}

std::string config_json(const FourierNeuralOperatorConfig& config, const std::vector<std::string>&) {
  return detail::text_of({{"model_type", "fno"},
                          {"num_hidden_layers", config.layers},
                          {"hidden_size", config.width},
                          {"modes", config.modes},
                          {"projection_size", config.hidden},
                          {"grid_size", config.size},
                          {"num_inputs", config.inputs},
                          {"num_outputs", config.outputs}});
}

}  // namespace riesz::models
