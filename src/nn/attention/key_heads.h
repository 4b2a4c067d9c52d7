// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz::detail {

/// Which key heads, of those that a worker holds, its query heads use: query head i uses key head i/group,
/// where `group` query heads share one (Ainslie et al., 2305.13245).
class KeyHeads {
 public:
  /// For the worker that holds these heads, by their global indices.
  KeyHeads(const Intervals& queries, const Intervals& keys, std::int64_t group);

  /// The first query head whose key head is not held, if there is one.
  std::optional<std::int64_t> query_without_key() const { return without_key_; }

  /// Which of the held key heads a query head uses, both by their local indices.
  std::int64_t of(std::int64_t query) const { return run_.begin + of_run_[static_cast<std::size_t>(query)]; }

  /// Given a tensor with the held key heads along `dim`: as many heads as divide the query heads, so that
  /// query head a uses head a/m, with m query heads for each. It is a view; or, where runs of query heads
  /// that share one are not equally long, a copy with one head for each query head.
  at::Tensor used(const at::Tensor& held, int dim) const;
  /// The adjoint: adds a gradient of what used() gave, `part`, to that of all held, in place. Nothing is left
  /// to do where `part` is used(sum), a view.
  void add_used(const at::Tensor& sum, int dim, const at::Tensor& part) const;

 private:
  Interval run_;                      // of the held key heads, all that are used and no more at its ends
  std::vector<std::int64_t> of_run_;  // by query head, from the run's begin
  bool even_ = true;
  std::optional<std::int64_t> without_key_;
};

}  // namespace riesz::detail
