// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "riesz/partition/interval.h"
#include "riesz/partition/vector.h"

namespace riesz {

/// Rows of data. Either every worker has the whole tensor. Or each worker makes the elements that it holds,
/// and no others: so a field may be larger than a worker's memory.
class Rows {
 public:
  /// Makes the elements of a box of global indices, a dense tensor of the box's extents on the CPU.
  using Make = std::function<at::Tensor(const Box& box)>;

  Rows() = default;
  Rows(at::Tensor whole);
  /// `make` must give the same on every worker.
  Rows(std::vector<std::int64_t> shape, at::ScalarType type, Make make);

  const std::vector<std::int64_t>& shape() const { return shape_; }
  at::ScalarType type() const { return type_; }
  std::int64_t count() const { return shape_.front(); }
  std::int64_t numel() const;
  /// Does each worker make its own elements?
  bool is_made() const { return make_ != nullptr; }

  /// The whole tensor.
  at::Tensor whole() const;
  /// Some of the rows.
  Rows part(const Interval& rows) const;
  /// With elements of another type.
  Rows to(at::ScalarType type) const;
  /// The vector of X, whose dims of any extent are those of these rows. Local: a worker makes or cuts out its
  /// own piece. @throws Error where the extents differ; where a worker holds several intervals of a dim of
  /// rows that are made.
  Vector in(const Space& X) const;

 private:
  std::vector<std::int64_t> shape_;
  at::ScalarType type_ = at::kFloat;
  at::Tensor whole_;  // undefined if each worker makes its own elements
  Make make_;
};

}  // namespace riesz
