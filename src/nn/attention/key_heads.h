// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz::detail {

/// Which of a worker's key heads its query heads use. `group` query heads share a key head: query head i uses
/// key head i/group (Ainslie et al., 2305.13245).
class KeyHeads {
 public:
  /// For the worker that holds these heads, by their global indices.
  KeyHeads(const Intervals& queries, const Intervals& keys, std::int64_t group);

  /// The first query head whose key head is not held, if there is one.
  std::optional<std::int64_t> query_without_key() const { return without_key_; }

  /// The held key head that a query head uses; both are local indices.
  std::int64_t of(std::int64_t query) const { return run_.begin + of_run_[static_cast<std::size_t>(query)]; }

  /// Takes a tensor with the held key heads along `dim`, and gives it with heads that divide the query heads
  /// evenly. With m query heads for each, query head a uses head a/m. The result is a view. Where runs of
  /// query heads that share one are not equally long, it is a copy with one head for each query head.
  at::Tensor used(const at::Tensor& held, int dim) const;
  /// The adjoint of used(): adds `part`, a gradient of its result, to `sum`, the gradient of all held heads,
  /// in place. Does nothing where `part` is used(sum), a view.
  void add_used(const at::Tensor& sum, int dim, const at::Tensor& part) const;

 private:
  /// Query heads one after another that use one key head.
  struct SharedBy {
    std::int64_t head;  // from the run's begin
    Interval queries;
  };

  Interval run_;                      // of the held key heads, all that are used and no more at its ends
  std::vector<std::int64_t> of_run_;  // by query head, from the run's begin
  std::vector<SharedBy> shared_;      // all query heads, in order
  bool even_ = true;
  std::optional<std::int64_t> without_key_;
};

}  // namespace riesz::detail
