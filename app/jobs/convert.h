// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace riesz::app {

/// The words of `riesz convert`.
struct ConvertWords {
  std::string path;
  std::string folder;
  std::string type;                         ///< fp32, bf16, fp16; "": as they are, and fp32 for GGUF's
  std::optional<std::int64_t> shard_bytes;  ///< the most data in one file
  bool no_tokenizer = false;                ///< of a GGUF file, the weights and config.json alone
};

/// Writes a model as a Hugging Face folder. The model is a GGUF file's (models/llama_gguf.h), or lies in
/// safetensors: a file, an index or a folder, such as a checkpoint. Then its weights are taken, and those
/// files beside them that go with a model. Each worker reads and writes its part (`write_tensors`). Returns
/// what was written, as text. Collective over the job.
/// @throws Error where there is no model or it is broken; where the folder is there already; where a number
/// is too great for the type.
std::string convert_report(const ConvertWords& words);

}  // namespace riesz::app
