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

/// A model that lies in files, as what is to be written: its weights under Hugging Face's names, and the
/// texts beside them.
struct ModelSource {
  std::vector<ReadableTensor> tensors;
  std::map<std::string, std::string> texts;
  std::string about;  ///< of what it was made, a line of text
};

struct SourceOptions {
  std::optional<at::ScalarType> type;  ///< of all floating weights; else each its own, and GGUF's fp32
  bool no_tokenizer = false;
};

/// Opens what a path means: a GGUF file, or a folder that has one and no safetensors; else safetensors, as
/// `StoredTensors` does. Reads heads and texts alone. @throws Error naming what is wrong with it. What is
/// read later @throws Error where a finite number is not finite in the type.
ModelSource open_model(const std::filesystem::path& path, const SourceOptions& options);

}  // namespace riesz::app
