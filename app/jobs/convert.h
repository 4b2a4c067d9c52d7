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
  std::string type;                         ///< fp32, bf16, fp16; "": as stored, and fp32 for GGUF
  std::optional<std::int64_t> shard_bytes;  ///< the most data in one file
  bool no_tokenizer = false;                ///< of a GGUF file, the weights and config.json alone
};

/// Writes a model as a Hugging Face folder. The model comes from a GGUF file (models/llama_gguf.h), or from
/// safetensors: a file, an index or a folder, such as a checkpoint. It takes the weights, and the files
/// beside them that belong to a model. Each worker reads and writes its part (`write_tensors`). Returns what
/// was written, as text. Collective over the job.
/// @throws Error where there is no model, it is broken, the folder exists already, or a number is too great
/// for the type.
std::string convert_report(const ConvertWords& words);

}  // namespace riesz::app
