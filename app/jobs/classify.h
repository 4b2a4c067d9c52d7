// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/app/models/load_model.h"

namespace riesz::app {

/// The words of `riesz classify`.
struct ClassifyWords {
  ModelWords model;
  std::vector<std::string> images;  ///< PNG or JPEG files
  std::int64_t top = 5;             ///< how many of the likeliest labels are printed of each; 0: all
  std::int64_t at_once = 16;        ///< images in a batch
  bool json = false;                ///< a line of JSON for each image
  bool quiet = false;               ///< without a note of which model was taken
};

/// Labels images by a folder's model, preprocessed as its preprocessor_config.json says. The first rank
/// writes on standard output, batch by batch, each image's name and its likeliest labels with their
/// probabilities. Each rank decodes a part of a batch; all have the whole batch. Collective over the job.
/// @throws Error before anything is computed, naming what is missing or out of range. Also, at its batch,
/// naming a file that is no image or is damaged.
void classify_images(const ClassifyWords& words);

}  // namespace riesz::app
