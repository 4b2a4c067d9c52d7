// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/passages.h"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

namespace riesz {
namespace {

/// What LibTorch numbers the node that adds up a leaf's gradient.
constexpr std::uint64_t kOfLeaf = std::numeric_limits<std::uint64_t>::max();

/// Are they copies of one vector? A worker that has no part of either cannot tell by their tensors.
bool same(const Vector& x, const Vector& y) { return &x.kept() == &y.kept(); }

/// Is a worker in both?
bool meet(const Partition& P, const Partition& Q) {
  if (P == Q) return true;
  for (int p = 0; p < P.size(); ++p) {
    for (int q = 0; q < Q.size(); ++q) {
      if (P.world_rank(p) == Q.world_rank(q)) return true;
    }
  }
  return false;
}

}  // namespace

Vector Departure::gradient() {
  std::optional<Vector> sum = std::move(seed);
  for (Return& each : gradients) sum = sum ? *sum + each.coming.wait() : each.coming.wait();
  return *sum;
}

Arrival* Passage::arrival_of(const Vector& x) {
  const auto found = std::find_if(arrivals.begin(), arrivals.end(), [&](Arrival& a) { return same(a.x, x); });
  return found == arrivals.end() ? nullptr : &*found;
}

Passage& Passages::add(int chunk, const Partition& home) {
  all_.push_back(
      {chunk, home, home.active(), at::sequence_number::peek(), nullptr, nullptr, nullptr, {}, {}, {}});
  return all_.back();
}

bool Passages::comes_back() const {
  std::set<int> chunks;
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Passage& each) { return each.mine && !chunks.insert(each.chunk).second; });
}

bool Passages::visited(int chunk) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Passage& each) { return each.chunk == chunk; });
}

std::optional<std::size_t> Passages::of(const Vector& x) const {
  if (!x.local().requires_grad()) return std::nullopt;
  if (x.local().grad_fn() == nullptr) {  // a leaf: what arrived somewhere, or another's
    for (std::size_t k = all_.size(); k-- > 0;) {
      const auto is_x = [&](const Arrival& arrival) {
        return arrival.y && arrival.y->local().is_same(x.local());
      };
      if (std::any_of(all_[k].arrivals.begin(), all_[k].arrivals.end(), is_x)) return k;
    }
    return std::nullopt;
  }
  const std::uint64_t number = x.local().grad_fn()->sequence_nr();
  std::optional<std::size_t> last;
  for (std::size_t k = all_.size(); k-- > 0;) {
    if (all_[k].first > number) continue;
    if (meet(all_[k].home, x.space().partition())) return k;
    if (!last) last = k;
  }
  return last;
}

std::optional<std::size_t> Passages::mixed(std::size_t k, const Vector& x) {
  Passage& passage = all_[k];
  std::vector<const torch::autograd::Node*> next{x.local().grad_fn().get()};
  while (!next.empty()) {
    const torch::autograd::Node* node = next.back();
    next.pop_back();
    if (node == nullptr) continue;
    const std::uint64_t number = node->sequence_nr();
    if (number == kOfLeaf) continue;
    if (number < all_.front().first) continue;  // computed outside
    if (number < passage.first) {
      while (all_[k].first > number) --k;
      return k;
    }
    const auto at = static_cast<std::size_t>(number - passage.first);
    if (passage.looked_at.size() <= at) passage.looked_at.resize(at + 1, false);
    if (passage.looked_at[at]) continue;
    passage.looked_at[at] = true;
    for (const torch::autograd::Edge& edge : node->next_edges()) next.push_back(edge.function.get());
  }
  return std::nullopt;
}

std::size_t Passages::depart(std::size_t k, const Vector& x) {
  std::deque<Departure>& departures = all_[k].departures;
  for (std::size_t i = 0; i < departures.size(); ++i) {
    if (same(departures[i].x, x)) return i;
  }
  departures.push_back({x, {}, std::nullopt});
  return departures.size() - 1;
}

}  // namespace riesz
