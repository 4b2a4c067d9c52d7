// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/split.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

/// Do the workers hold one interval each, one after another?
bool consecutive(const Split& split) {
  std::int64_t at = 0;
  for (int worker = 0; worker < split.workers(); ++worker) {
    if (split.held(worker).size() != 1 || split[worker].begin != at) return false;
    at = split[worker].end;
  }
  return !split.overlaps();
}

/// The intervals of all workers, those that begin first before the others, which cover [0, n).
Intervals in_order(const char* what, std::int64_t n, const std::vector<Intervals>& by_worker) {
  Intervals sorted;
  for (const Intervals& held : by_worker) sorted.insert(sorted.end(), held.begin(), held.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::int64_t covered = 0;
  for (const Interval& part : sorted) {
    RIESZ_CHECK(part.begin >= 0 && part.begin <= part.end && part.end <= n, what, ": ", to_string(part),
                " is not inside ", to_string(Interval{0, n}), "; clip what is needed, or wrap it around");
    RIESZ_CHECK(part.begin <= covered || part.size() == 0, what, ": no worker holds index ", covered);
    covered = std::max(covered, part.end);
  }
  RIESZ_CHECK(covered == n, what, ": no worker holds index ", covered, " of ", n);
  return sorted;
}

}  // namespace

struct Split::Impl {
  std::vector<Intervals> held;  // by worker
  std::int64_t extent = 0;
  bool overlaps = false;

  bool operator==(const Impl&) const = default;
};

Split::Split(Impl impl) : impl_(std::make_shared<const Impl>(std::move(impl))) {}

int Split::workers() const { return static_cast<int>(impl_->held.size()); }
std::int64_t Split::extent() const { return impl_->extent; }
bool Split::overlaps() const { return impl_->overlaps; }
const Intervals& Split::held(int worker) const { return impl_->held.at(static_cast<std::size_t>(worker)); }
bool Split::operator==(const Split& other) const { return impl_ == other.impl_ || *impl_ == *other.impl_; }

Split Split::balanced(std::int64_t n, int p, std::int64_t unit) {
  RIESZ_CHECK(n >= 0 && p >= 1 && unit >= 1, "Split::balanced(", n, ", ", p, ", ", unit,
              "): needs n >= 0, at least one worker and a unit of at least 1");
  RIESZ_CHECK(n % unit == 0, "Split::balanced: ", n, " is not a whole number of units of ", unit,
              "; choose a unit that divides it");
  Impl impl{{}, n, false};
  for (int worker = 0; worker < p; ++worker) impl.held.push_back({balanced_interval(n, p, unit, worker)});
  return Split(std::move(impl));
}

Interval balanced_interval(std::int64_t n, int p, std::int64_t unit, int worker) {
  const std::int64_t base = n / unit / p;
  const std::int64_t more = n / unit % p;
  const std::int64_t begin = unit * (base * worker + std::min<std::int64_t>(worker, more));
  return {begin, begin + unit * (base + (worker < more ? 1 : 0))};
}

Split Split::sizes(const std::vector<std::int64_t>& sizes) {
  Impl impl;
  for (const std::int64_t size : sizes) {
    RIESZ_CHECK(size >= 0, "Split::sizes: a shard of ", size, " elements; sizes are zero or more");
    impl.held.push_back({{impl.extent, impl.extent + size}});
    impl.extent += size;
  }
  return Split(std::move(impl));
}

Split Split::zigzag(std::int64_t n, int p, std::int64_t unit) {
  const Split chunks = balanced(n, 2 * p, unit);
  Impl impl{{}, n, false};
  for (int worker = 0; worker < p; ++worker)
    impl.held.push_back({chunks[worker], chunks[2 * p - 1 - worker]});
  return Split(std::move(impl));
}

Split Split::pieces(std::int64_t n, const std::vector<Intervals>& held) {
  std::int64_t covered = 0;
  for (const Interval& piece : in_order("Split::pieces", n, held)) {
    RIESZ_CHECK(piece.size() == 0 || piece.begin == covered, "Split::pieces: index ", piece.begin,
                " is held twice; give each to one worker, or use Split::covering");
    covered = std::max(covered, piece.end);
  }
  return Split(Impl{held, n, false});
}

Split Split::covering(std::int64_t n, const std::vector<Intervals>& needs) {
  in_order("Split::covering", n, needs);
  return Split(Impl{needs, n, true});
}

Segments Split::owned(int worker) const {
  Segments kept = segments(held(worker));
  if (!overlaps()) return kept;
  for (int before = 0; before < worker && !kept.empty(); ++before)
    kept = detail::subtract(kept, held(before));
  return detail::first_occurrences(kept);
}

Split Split::rotated(int k) const {
  Impl impl = *impl_;
  const int p = workers();
  for (int worker = 0; worker < p; ++worker) {
    impl.held[static_cast<std::size_t>(worker)] = held(((worker - k) % p + p) % p);
  }
  return Split(std::move(impl));
}

std::string to_string(const Split& split) {
  std::string text;
  for (int worker = 0; worker < split.workers(); ++worker) {
    std::string part;
    for (const Interval& interval : split.held(worker)) {
      part += (part.empty() ? "" : ",") +
              (consecutive(split) ? std::to_string(interval.size()) : to_string(interval));
    }
    text += (worker == 0 ? "" : "+") + (split.held(worker).size() == 1 ? part : "(" + part + ")");
  }
  return text;
}

}  // namespace riesz
