// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/io/images/image_set.h"

namespace riesz {

/// How a model is shown an image: brought to a form, then each byte b as (b / 255 − mean) / deviation.
struct Preprocessing {
  ImageForm form;
  std::vector<double> mean{0.5};       ///< one for all channels, or one for each
  std::vector<double> deviation{0.5};  ///< likewise
};

/// What the text of Hugging Face's preprocessor_config.json says of a model with so many channels: of
/// ViTImageProcessor, which it is taken for where it names none, or of CLIPImageProcessor. Rescaling by
/// another factor than 1/255, and none at all, are said by mean and deviation. Local.
/// @throws Error naming the key that asks for what is not done here, or that nobody knows.
Preprocessing preprocessing_of(const std::string& preprocessor_config_json, std::int64_t channels);

/// Such a text, by which AutoImageProcessor of transformers does the same. @post reading it gives the same.
std::string preprocessor_config_json(const Preprocessing& of);

/// Images of bytes in the form, (…, channels, size, size) → as a model is shown them, in fp32. Local.
at::Tensor normalised(const at::Tensor& bytes, const Preprocessing& as);

}  // namespace riesz
