// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/io/gguf/gguf_file.h"
#include "riesz/models/llama.h"

namespace riesz::models {

/// The sizes of the Llama in a GGUF file whose general.architecture is "llama". Its output layer is tied
/// unless there is a tensor output.weight. llama.cpp keeps Llama 3's rotary scaling as a tensor with a factor
/// for each pair; the scaling is computed from that. @throws Error naming the file and the key. It throws on
/// another architecture, experts, other rotary scalings, unknown keys, and sizes that do not fit each other.
LlamaConfig llama_config(const GgufFile& file);

/// One weight of a Llama, under Hugging Face's name and in its shape, with its place in a GGUF file.
struct LlamaGgufWeight {
  std::string name;
  std::string stored;               ///< the file's name for it
  std::vector<std::int64_t> shape;  ///< the same in both
  std::int64_t head_width = 0;      ///< d, where the file has the rows of heads in another order; else 0
};

/// All weights that a model of these sizes has, by Hugging Face's names.
/// @throws Error naming all at once what the file lacks, has beside them, or has in another shape.
std::vector<LlamaGgufWeight> llama_weights(const GgufFile& file, const LlamaConfig& config);

/// The places in the file of these elements of a weight. Rotary positions turn a head's rows in pairs. In q
/// and k of Hugging Face these are rows i and i + d/2, in llama.cpp neighbours. So row 2i + j of a head in
/// the file is its published row i + j·d/2. A bijection of the elements.
Intervals stored_elements(const LlamaGgufWeight& weight, const Interval& published);

}  // namespace riesz::models
