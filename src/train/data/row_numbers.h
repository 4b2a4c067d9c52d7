// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/partition/interval.h"
#include "riesz/train/config/config.h"

namespace riesz {

/// The numbers of rows of data. The first of them are held out. Each epoch visits the others in an order of
/// its own, by train.seed.
class RowNumbers {
 public:
  /// `count` rows, of which the share data.held_out is held out. `of` names them in an error.
  /// @throws Error if nothing is left to hold out or to train on.
  RowNumbers(const Config& config, std::int64_t count, const std::string& of);
  /// The numbers of rows that a seed makes, data.count of them.
  explicit RowNumbers(const Config& config);

  std::int64_t held_out() const { return held_out_; }
  /// Those to train on.
  Interval training() const { return {held_out_, count_}; }
  /// The numbers of so many training rows from place `first` on, counted over all epochs.
  std::vector<std::int64_t> trained(std::int64_t first, std::int64_t rows) const;
  /// The numbers of the rows held out.
  static std::vector<std::int64_t> of_held_out(std::int64_t begin, std::int64_t end);
  /// Such as "1,800 to train on, 200 held out".
  std::string text() const;

 private:
  std::int64_t count_, held_out_;
  std::uint64_t seed_;
};

}  // namespace riesz
