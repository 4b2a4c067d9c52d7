// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

/// A value for each micro-batch in each chunk.
template <typename Value>
class Cells {
 public:
  Cells() = default;
  Cells(int chunks, int micro_batches, const Value& first)
      : micro_batches_(static_cast<std::size_t>(micro_batches)),
        values_(static_cast<std::size_t>(chunks) * micro_batches_, first) {}

  Value& operator()(int chunk, int micro_batch) { return values_[place(chunk, micro_batch)]; }
  const Value& operator()(int chunk, int micro_batch) const { return values_[place(chunk, micro_batch)]; }
  Value& of(const Action& action) { return (*this)(action.chunk, action.micro_batch); }
  const Value& of(const Action& action) const { return (*this)(action.chunk, action.micro_batch); }

 private:
  std::size_t place(int chunk, int micro_batch) const {
    return static_cast<std::size_t>(chunk) * micro_batches_ + static_cast<std::size_t>(micro_batch);
  }

  std::size_t micro_batches_ = 0;
  std::vector<Value> values_;
};

}  // namespace riesz
