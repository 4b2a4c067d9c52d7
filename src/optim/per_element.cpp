// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/per_element.h"

#include <ATen/ops/as_strided.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "riesz/comm/error.h"

namespace riesz {

std::vector<Extent> extents(const std::vector<Share>& shares) {
  std::vector<Extent> result;
  for (const Share& share : shares) {
    result.push_back({share.parameter, share.begin, share.value.numel(),
                      share.value.options().requires_grad(false), share.part, share.counted, share.copy_of});
  }
  return result;
}

std::vector<std::size_t> places_of_sums(const std::vector<Extent>& shares) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < shares.size(); ++i) result.push_back(shares[i].copy_of.value_or(i));
  return result;
}

std::vector<StorePart> parts_of(const std::vector<Share>& shares, std::size_t parts) {
  std::vector<StorePart> result;
  std::size_t at = 0;
  for (std::size_t number = 0; number < parts; ++number) {
    const std::size_t first = at;
    while (at < shares.size() && shares[at].part == number) ++at;
    result.push_back({number, first, at});
  }
  RIESZ_CHECK(at == shares.size(), "Store: share ", at, " is of part ", shares[at].part, " of ", parts,
              "; shares are in the order of their parts");
  return result;
}

PerElement::PerElement(std::string key, const std::vector<Extent>& shares, const Which& has)
    : key_(std::move(key)) {
  std::vector<at::TensorOptions> options;
  std::vector<std::int64_t> sizes;
  std::size_t part = 0;
  for (const Extent& share : shares) {
    const at::TensorOptions& like = share.options;
    if (options.empty() || std::exchange(part, share.part) != share.part ||
        options.back().dtype() != like.dtype() || options.back().device() != like.device()) {
      options.push_back(like);
      sizes.push_back(0);
    }
    const bool kept = !has || has(share.parameter);
    places_.push_back({kept, sizes.size() - 1, sizes.back(), kept ? share.size : 0});
    sizes.back() += places_.back().size;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) buffers_.push_back(at::zeros({sizes[i]}, options[i]));
}

at::Tensor PerElement::of(std::size_t first, std::size_t last) const {
  const Place& from = places_[first];
  const Place& to = places_[last - 1];
  return buffers_[from.buffer].narrow(0, from.begin, to.begin + to.size - from.begin);
}

namespace {

/// Does b begin where a ends?
bool follows(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.is_alias_of(b) &&
         a.storage_offset() + a.numel() == b.storage_offset();
}

at::Tensor joined(const at::Tensor& a, const at::Tensor& b) {
  return at::as_strided(a, {a.numel() + b.numel()}, {1}, a.storage_offset());
}

}  // namespace

std::vector<Run> runs(const std::vector<Share>& shares, const StorePart& part,
                      const std::function<bool(std::size_t, std::size_t)>& alike) {
  std::vector<Run> result;
  for (std::size_t i = part.first; i < part.last; ++i) {
    const Share& share = shares[i];
    if (share.value.numel() == 0) continue;
    if (!result.empty() && alike(result.back().first, i) && follows(result.back().value, share.value) &&
        follows(result.back().gradient, share.gradient)) {
      Run& run = result.back();
      run = {run.first, i + 1, joined(run.value, share.value), joined(run.gradient, share.gradient)};
    } else {
      result.push_back({i, i + 1, share.value, share.gradient});
    }
  }
  return result;
}

}  // namespace riesz
