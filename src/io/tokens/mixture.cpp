// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/tokens/seeded_permutation.h"

namespace riesz {
namespace {

constexpr int kBits = 24;
constexpr std::uint64_t kOne = std::uint64_t{1} << kBits;

}  // namespace

Mixture::Mixture(std::vector<std::int64_t> sizes, const std::vector<double>& weights, std::uint64_t seed)
    : sizes_(std::move(sizes)), seed_(seed) {
  const std::vector<double> all =
      weights.empty() ? std::vector<double>(sizes_.begin(), sizes_.end()) : weights;
  RIESZ_CHECK(!sizes_.empty() && all.size() == sizes_.size(), "a mixture of ", sizes_.size(),
              " sources with ", all.size(), " weights; give one to each");
  for (std::size_t s = 0; s < sizes_.size(); ++s) {
    RIESZ_CHECK(sizes_[s] >= 1, "source ", s, " of a mixture has no sequence");
    RIESZ_CHECK(all[s] > 0 && std::isfinite(all[s]), "source ", s, " of a mixture has the weight ", all[s],
                "; it must be more than 0");
  }
  for (auto weight = all.begin(); weight != all.end(); ++weight) {
    const double share = *weight / std::accumulate(weight, all.end(), 0.0);
    shares_.push_back(static_cast<std::uint64_t>(std::llround(share * static_cast<double>(kOne))));
  }
  shares_.back() = kOne;
}

/// How many of the first so many places that reach a source are its own.
std::int64_t Mixture::taken(std::size_t source, std::int64_t of) const {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(of) * shares_[source] + kOne / 2) >> kBits);
}

std::int64_t Mixture::drawn_before(std::int64_t place, std::size_t source) const {
  for (std::size_t s = 0; s < source; ++s) place -= taken(s, place);
  return source + 1 == sizes_.size() ? place : taken(source, place);
}

Mixture::Drawn Mixture::at(std::int64_t place) const {
  RIESZ_CHECK(place >= 0 && place < std::int64_t{1} << 39, "place ", place, " in the data");
  std::size_t source = 0;
  for (; source + 1 < sizes_.size(); ++source) {
    const std::int64_t before = taken(source, place);
    if (taken(source, place + 1) > before) {
      place = before;
      break;
    }
    place -= before;
  }
  const std::int64_t size = sizes_[source];
  const SeededPermutation order(size, seed_, "data of source " + std::to_string(source),
                                static_cast<std::uint64_t>(place / size));
  return {source, order.at(place % size), place / size};
}

}  // namespace riesz
