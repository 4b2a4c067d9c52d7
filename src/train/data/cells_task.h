// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/io/cells.h"
#include "riesz/train/data/row_numbers.h"
#include "riesz/train/data/task.h"

namespace riesz {

/// The labels of all pixels of images of cells, which data.seed decides. Each worker makes the pixels that it
/// holds, and no others.
class CellsTask final : public Task {
 public:
  /// @throws Error as `CellImages` and `RowNumbers`.
  explicit CellsTask(const Config& config);

  std::int64_t vocabulary() const override { return CellImages::labels; }
  std::vector<std::string> label_names() const override {
    return {CellImages::names.begin(), CellImages::names.end()};
  }
  DataUnit unit() const override;
  /// Inputs of (rows, 1, size, size), and a label of each pixel.
  Batch batch(std::int64_t first, std::int64_t rows) const override;
  std::int64_t held_out() const override { return rows_.held_out(); }
  Batch held_out(std::int64_t begin, std::int64_t end) const override;
  std::string describe() const override;
  std::uint64_t digest() const override { return digest_; }
  /// The overlap of each label.
  std::vector<std::string> report(const Predict& model, const HeldOut& held_out) const override;
  /// Each row an image, its labels and those that the model gives.
  at::Tensor picture(const Predict& model, std::int64_t rows) const override;

 private:
  Batch batch_of(const std::vector<std::int64_t>& numbers) const;

  RowNumbers rows_;
  CellImages images_;
  std::uint64_t digest_ = 0;
};

}  // namespace riesz
