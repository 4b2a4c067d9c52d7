// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/train/data/task.h"

namespace riesz {

/// The task of predicting the next byte of a file, or of a folder's sources (`read_bytes`). The last part is
/// held out. A training batch has windows at random places, each drawn by (seed, its number in training). The
/// held-out windows are fixed and do not overlap; their order is drawn too, so the first few represent all.
class TextTask final : public Task {
 public:
  /// @throws Error naming the sizes if either part is shorter than a window.
  explicit TextTask(const Config& config);

  std::int64_t vocabulary() const override { return 256; }
  DataUnit unit() const override { return {.each = length_}; }
  Batch batch(std::int64_t first, std::int64_t sequences) const override;
  std::int64_t held_out() const override { return static_cast<std::int64_t>(order_.size()); }
  Batch held_out(std::int64_t begin, std::int64_t end) const override;
  std::string describe() const override;
  std::uint64_t digest() const override;
  /// The held-out loss in bits per byte, and bytes that the model writes after the first held-out ones.
  std::vector<std::string> report(const Predict& model, double held_out_loss) const override;

 private:
  std::string bytes_;
  std::int64_t length_;
  std::int64_t trained_;  // bytes before the held-out ones
  std::uint64_t seed_;
  std::int64_t sample_;
  double temperature_;
  std::string origin_;
  std::vector<std::int64_t> order_;  // of the held-out windows
};

}  // namespace riesz
