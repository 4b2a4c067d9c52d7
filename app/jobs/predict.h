// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/app/models/load_model.h"

namespace riesz::app {

/// The words of `riesz predict`.
struct PredictWords {
  ModelWords model;
  std::string inputs;        ///< FILE.npy, or FILE.h5:DATASET, as data.inputs
  std::string output;        ///< FILE.npy
  std::int64_t tile = 0;     ///< rows and columns of a tile; 0: as large as the image
  std::int64_t at_once = 0;  ///< tiles in a call; 0: one for each worker of layout.dp
  bool quiet = false;        ///< without notes
};

/// Writes what a U-Net or a Fourier neural operator predicts of images or fields: the label of each pixel, or
/// the field. They may have other sizes than those that it was trained on. In tiles, whose windows have the
/// model's halo around them, the result is that of the whole image. Each rank reads and writes the boxes that
/// it holds, so its memory is that of a call (`memory_of_tiles`). Collective over the job.
/// @throws Error before anything is computed, naming files, sizes and options that do not fit.
void predict_fields(const PredictWords& words);

}  // namespace riesz::app
