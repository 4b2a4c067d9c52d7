// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/key_heads.h"

#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "riesz/comm/on_device.h"

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

at::Tensor index_on(const std::vector<std::int64_t>& indices, at::Device device) {
  return on_device(at::tensor(indices, at::dtype(at::kLong)), device);
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
}

at::Tensor KeyHeads::used(const at::Tensor& held, int dim) const {
  const at::Tensor run = run_.size() == held.size(dim) ? held : held.narrow(dim, run_.begin, run_.size());
  return even_ ? run : at::index_select(run, dim, index_on(of_run_, held.device()));
}

void KeyHeads::add_used(const at::Tensor& sum, int dim, const at::Tensor& part) const {
  if (even_) return;
  sum.narrow(dim, run_.begin, run_.size()).index_add_(dim, index_on(of_run_, sum.device()), part);
}

}  // namespace riesz::detail
