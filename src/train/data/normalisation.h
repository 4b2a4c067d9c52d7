// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// How numbers of files become those of a model: an input x of channel c becomes (x − mean[c]) /
/// deviation[c], and a target is divided by `scale`. Without means, inputs are as they are.
struct Normalisation {
  /// Its file beside a model's weights.
  static constexpr const char* file = "normalisation.json";

  std::vector<double> mean, deviation;
  double scale = 1;

  /// Fields of (rows, channels, height, width) with these channels, in fp32.
  at::Tensor inputs(const at::Tensor& fields, const Interval& channels) const;
};

/// The text of its file.
std::string to_text(const Normalisation& normalisation);
/// Reads that file of a model's folder; one that changes nothing where there is none.
/// @throws Error naming the file where it says no such thing.
Normalisation read_normalisation(const std::filesystem::path& folder);
/// @throws Error where the file of a checkpoint's folder gives other numbers in fp32 than `now`, the text of
/// one. It says what can be done instead of going on from the checkpoint.
void check_normalised_alike(const std::filesystem::path& folder, const std::string& now);

}  // namespace riesz
