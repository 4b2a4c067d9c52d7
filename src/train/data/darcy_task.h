// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/train/data/row_numbers.h"
#include "riesz/train/data/task.h"

namespace riesz {

/// Solutions of Darcy flow (`DarcyFlow`) from their coefficients, which data.seed decides. The workers of a
/// host share out the solving, and the solutions. Each worker reads the grid points that it holds, and no
/// others.
class DarcyTask final : public Task {
 public:
  /// Collective over the job. @throws Error as `DarcyFlow` and `RowNumbers`.
  explicit DarcyTask(const Config& config);

  /// What all coefficients, coordinates and solutions take. Local.
  static std::int64_t bytes(const Config& config);

  /// Numbers of the solution at a grid point.
  std::int64_t vocabulary() const override { return 1; }
  DataUnit unit() const override {
    return {.row = "field", .counted = "field", .loss = "relative error in L2"};
  }
  /// Inputs as `darcy_inputs` gives them; targets of (rows, 1, size, size).
  Batch batch(std::int64_t first, std::int64_t rows) const override;
  std::int64_t held_out() const override { return rows_.held_out(); }
  Batch held_out(std::int64_t begin, std::int64_t end) const override;
  std::string describe() const override;
  std::uint64_t digest() const override { return digest_; }
  std::vector<std::string> report(const Predict& model, const HeldOut& held_out) const override;
  /// Each row a coefficient, its solution and that of the model.
  at::Tensor picture(const Predict& model, std::int64_t rows) const override;

 private:
  Batch batch_of(const std::vector<std::int64_t>& numbers) const;

  RowNumbers rows_;
  at::Tensor inputs_, targets_;
  std::uint64_t digest_ = 0;
};

}  // namespace riesz
