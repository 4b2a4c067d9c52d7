// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "riesz/io/checkpoint/save.h"
#include "riesz/partition/interval.h"

namespace riesz {

/// A tensor that can be read part by part, such as from a file of another format.
struct ReadableTensor {
  std::string name;
  at::ScalarType type = at::kFloat;  ///< in which it is written
  std::vector<std::int64_t> shape;
  /// Reads these elements, in row-major order, into `out`, which is flat and contiguous, of that type.
  std::function<void(const Interval& elements, const at::Tensor& out)> read;
};

/// Writes tensors that no worker holds as a Hugging Face folder. Files, names, order and crash-safety are
/// those of `save_checkpoint`, with the same bytes for the same values. Each worker reads and writes 1/p of
/// all bytes, in one run, a megabyte at a time. Nothing moves between workers. Collective over P; tensors and
/// texts are alike on all. Cost: (bytes read + bytes written) / p. Memory: 4 MB and what reading takes.
/// @throws Error on all workers, with nothing changed, if there is no room, or any worker cannot read or
/// write.
void write_tensors(const std::filesystem::path& folder, const Partition& P,
                   const std::vector<ReadableTensor>& tensors,
                   const std::map<std::string, std::string>& texts, const SaveOptions& options = {});

}  // namespace riesz
