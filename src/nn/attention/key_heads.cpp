// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/key_heads.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/split.h>
#include <ATen/ops/sum.h>

#include <algorithm>

namespace riesz::detail {
namespace {

/// The local index of a global one, or −1.
std::int64_t local_index(const Intervals& held, std::int64_t global) {
  std::int64_t before = 0;
  for (const Interval& run : held) {
    if (global >= run.begin && global < run.end) return before + global - run.begin;
    before += run.size();
  }
  return -1;
}

/// Does query head a use head a/m, m query heads each of as many as there are?
bool divides(const std::vector<std::int64_t>& head_of, std::int64_t heads) {
  const auto queries = static_cast<std::int64_t>(head_of.size());
  if (heads == 0 || queries % heads != 0) return heads == queries;
  for (std::int64_t a = 0; a < queries; ++a) {
    if (head_of[static_cast<std::size_t>(a)] != a / (queries / heads)) return false;
  }
  return true;
}

}  // namespace

KeyHeads::KeyHeads(const Intervals& queries, const Intervals& keys, std::int64_t group) {
  for (const Interval& run : queries) {
    for (std::int64_t head = run.begin; head < run.end; ++head) {
      of_run_.push_back(local_index(keys, head / group));
      if (of_run_.back() < 0 && !without_key_) without_key_ = head;
    }
  }
  if (of_run_.empty()) return;
  const auto [first, last] = std::minmax_element(of_run_.begin(), of_run_.end());
  run_ = {*first, *last + 1};
  for (std::int64_t& head : of_run_) head -= run_.begin;
  even_ = divides(of_run_, run_.size());
  for (std::int64_t query = 0; query < static_cast<std::int64_t>(of_run_.size()); ++query) {
    const std::int64_t head = of_run_[static_cast<std::size_t>(query)];
    if (shared_.empty() || shared_.back().head != head) shared_.push_back({head, {query, query}});
    ++shared_.back().queries.end;
  }
}

/// Neither indices on a device nor a sum that is made in an order left to chance: a key head is repeated for
/// its query heads, so its gradient is the sum of theirs over a dim.
at::Tensor KeyHeads::used(const at::Tensor& held, int dim) const {
  const at::Tensor run = run_.size() == held.size(dim) ? held : held.narrow(dim, run_.begin, run_.size());
  if (even_) return run;
  const std::vector<at::Tensor> heads = at::split(run, 1, dim);
  std::vector<at::Tensor> repeated;
  for (const SharedBy& each : shared_) {
    std::vector<std::int64_t> shape = run.sizes().vec();
    shape[static_cast<std::size_t>(dim)] = each.queries.size();
    repeated.push_back(heads[static_cast<std::size_t>(each.head)].expand(shape));
  }
  return at::cat(repeated, dim);
}

void KeyHeads::add_used(const at::Tensor& sum, int dim, const at::Tensor& part) const {
  if (even_) return;
  for (const auto& [head, queries] : shared_)
    sum.narrow(dim, run_.begin + head, 1)
        .add_(part.narrow(dim, queries.begin, queries.size()).sum({dim}, /*keepdim=*/true));
}

}  // namespace riesz::detail
