// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/app/models/model.h"
#include "riesz/models/causal_model.h"

namespace riesz::app {

/// A trained model's folder, and how it lies on this job's ranks.
struct ModelWords {
  std::string folder;  ///< or a name in Hugging Face's cache
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  std::int64_t ep = 1;  ///< workers that share out experts, and else each layer, as those of tp do
  std::vector<std::int64_t> space = {1, 1};  ///< workers that share an image's rows, and its columns
  std::int64_t sp = 1;  ///< workers that share each sequence, as DeepSpeed's Ulysses does
  std::int64_t tp = 0;  ///< 0: what the others leave of the job's ranks
  std::string tensor = "1d";
  std::string device = "cpu";      ///< or "cuda"
  std::string precision = "fp32";  ///< of the weights here, and of all that is computed
};

/// The folder itself, or that of a name in Hugging Face's cache. Local. @throws Error unless it has the
/// config.json of a model that generates text.
std::string generating_folder(const std::string& folder_or_name);

/// Loads the model of a folder such as Hugging Face's: config.json, and weights in safetensors. Each worker
/// reads its own part. With pp above 1 the model is in stages, whose weights are divided as evenly as blocks
/// allow. Collective over the job.
/// @throws Error naming the option where the layout does not fit the job. Also where a file is missing or the
/// model is of a kind that does not generate; and as `load_weights`.
std::unique_ptr<models::CausalModel> load_model(const ModelWords& words);

/// The same for a folder with a model of images and its classifier, for `predict`. Collective over the job.
/// @throws Error naming the option where the layout does not fit the job. Also where a file or the classifier
/// is missing or the model is of text; and as `load_weights`.
HeldModel load_image_model(const ModelWords& words);
/// The same with another size of images (`models::of_size`).
HeldModel load_image_model(const ModelWords& words, const models::ImageConfig& config);

}  // namespace riesz::app
