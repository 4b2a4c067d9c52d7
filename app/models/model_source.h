// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "riesz/io/checkpoint/write_tensors.h"

namespace riesz::app {

/// A model in files, ready to be written as a Hugging Face folder: its weights under the published names, and
/// the files beside them.
struct ModelSource {
  std::vector<ReadableTensor> tensors;
  std::map<std::string, std::string> texts;  ///< whole files by name, such as config.json
  std::string about;                         ///< what it was made of, in a line
};

struct SourceOptions {
  std::optional<at::ScalarType> type;  ///< of all floating weights; else each keeps its own, GGUF's in fp32
  bool no_tokenizer = false;           ///< of a GGUF file
};

/// Opens a model: a GGUF file, or a folder that has one and no safetensors; else safetensors, as
/// `StoredTensors` does. Local; reads heads and texts alone. @throws Error naming what is wrong with it. A
/// tensor's `read` @throws Error where a finite number is not finite in the type.
ModelSource open_model(const std::filesystem::path& path, const SourceOptions& options);

}  // namespace riesz::app
