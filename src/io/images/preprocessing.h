// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/io/images/image_form.h"

namespace riesz {

/// The preprocessing of an image before a model sees it: `to_form`, then (b / 255 − mean) / deviation of each
/// byte b.
struct Preprocessing {
  ImageForm form;
  std::vector<double> mean{0.5};       ///< one for all channels, or one for each
  std::vector<double> deviation{0.5};  ///< standard deviation, likewise (Hugging Face's image_std)
};

/// Reads the text of Hugging Face's preprocessor_config.json, for a model with this number of channels. The
/// processor must be a ViTImageProcessor (the default), a CLIPImageProcessor or a ConvNextImageProcessor;
/// missing keys have its defaults. Rescaling by another factor than 1/255, or none, becomes part of mean and
/// deviation. Local.
/// @throws Error naming a key that is unknown or asks for something unsupported.
Preprocessing preprocessing_of(const std::string& preprocessor_config_json, std::int64_t channels);

/// A text of preprocessor_config.json with which AutoImageProcessor of transformers does the same. @post
/// `preprocessing_of` of the text does too
std::string preprocessor_config_json(const Preprocessing& preprocessing);

/// Images of bytes in the form, (…, channels, size, size) → what a model sees, of the same shape, in fp32.
/// Local.
at::Tensor normalised(const at::Tensor& bytes, const Preprocessing& preprocessing);

}  // namespace riesz
