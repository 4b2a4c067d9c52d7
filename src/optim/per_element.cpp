// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/per_element.h"

#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/sum/ordered_sum.h"

namespace riesz {

std::vector<Extent> extents(const std::vector<Share>& shares) {
  std::vector<Extent> result;
  for (const Share& share : shares) {
    const at::ScalarType trained = accumulation_type(share.value.scalar_type());
    result.push_back({share.parameter, share.begin, share.value.numel(),
                      share.value.options().dtype(trained).requires_grad(false), share.part, share.counted,
                      share.copy_of});
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

std::vector<ElementsPlace> places_of_elements(const std::vector<Extent>& shares, const Which& has) {
  std::vector<ElementsPlace> places;
  const Extent* before = nullptr;
  std::int64_t end = 0;
  for (const Extent& share : shares) {
    const bool same = before != nullptr && before->part == share.part && before->half == share.half &&
                      before->options.dtype() == share.options.dtype() &&
                      before->options.device() == share.options.device();
    if (!same) end = 0;
    const std::size_t buffer = before == nullptr ? 0 : places.back().buffer + (same ? 0 : 1);
    const std::int64_t begin = end;
    if (!has || has(share.parameter)) end += share.size;
    places.push_back({buffer, {begin, end}});
    before = &share;
  }
  return places;
}

std::int64_t StateWindow::bytes() const {
  return elements.size() * static_cast<std::int64_t>(options.dtype().itemsize());
}

std::vector<StateWindow> windows_of(const std::vector<Extent>& shares, std::int64_t most_bytes) {
  constexpr std::int64_t kLine = 64;  // bytes of the widest registers
  const std::vector<ElementsPlace> places = places_of_elements(shares);
  std::vector<StateWindow> windows;
  const auto goes_on = [&](std::size_t i, std::int64_t most) {
    const ElementsPlace& place = places[i];
    return !windows.empty() && i > 0 && place.buffer == places[i - 1].buffer &&
           windows.back().elements.end == place.elements.begin && windows.back().elements.size() < most;
  };
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::int64_t width = static_cast<std::int64_t>(shares[i].options.dtype().itemsize());
    const std::int64_t most = std::max(most_bytes / kLine * kLine, kLine) / width;
    const Interval all = places[i].elements;
    for (std::int64_t at = all.begin; at < all.end;) {
      if (at > all.begin || !goes_on(i, most))
        windows.push_back({{shares[i].part, i, i}, {at, at}, shares[i].options});
      StateWindow& window = windows.back();
      at = std::min(all.end, window.elements.begin + most);
      window.elements.end = at;
      window.shares.last = i + 1;
    }
  }
  return windows;
}

PerElement::PerElement(std::string key, const std::vector<Extent>& shares, const Which& has)
    : key_(std::move(key)), places_(places_of_elements(shares, has)) {
  std::vector<std::int64_t> sizes;
  std::vector<at::TensorOptions> options;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    has_.push_back(!has || has(shares[i].parameter));
    if (places_[i].buffer == sizes.size()) sizes.push_back(0), options.push_back(shares[i].options);
    sizes.back() = places_[i].elements.end;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) buffers_.push_back(at::zeros({sizes[i]}, options[i]));
}

PerElement::PerElement(std::string key, const std::vector<Extent>& shares, std::vector<StateWindow> windows,
                       StatePlace& place, const std::string& what, Of of)
    : key_(std::move(key)), places_(places_of_elements(shares)), windows_(std::move(windows)) {
  std::vector<std::int64_t> sizes;
  for (const Extent& share : shares) {
    RIESZ_CHECK(!place.is_host_memory() || !share.options.device().is_cpu(), what, ": the values of ",
                share.parameter.name(),
                " are on the CPU, so its state lies on the host in any case; leave out "
                "host_place, or take disk_place");
    options_.push_back(share.options);
    has_.push_back(of == Of::all || share.half);
  }
  for (const StateWindow& window : windows_) sizes.push_back(has_[window.shares.first] ? window.bytes() : 0);
  pages_ = place.room(what, sizes);
  waits_ = !place.is_host_memory();
}

at::Tensor PerElement::of(std::size_t first, std::size_t last) const {
  const ElementsPlace& from = places_[first];
  Interval wanted{from.elements.begin, places_[last - 1].elements.end};
  if (!pages_) return buffers_[from.buffer].narrow(0, wanted.begin, wanted.size());
  RIESZ_CHECK(window_, key_, " lies elsewhere, and no window of it is here");
  const StateWindow& window = windows_[*window_];
  RIESZ_CHECK(window.shares.first <= first && last <= window.shares.last, key_, ": shares ", first, " to ",
              last, " are not in the window that is here, of shares ", window.shares.first, " to ",
              window.shares.last);
  wanted = intersect(wanted, window.elements);
  return here_.narrow(0, wanted.begin - window.elements.begin, wanted.size());
}

/// All shares of a window have half values, or none.
bool PerElement::in_pages(std::size_t window) const { return pages_ && has_[windows_[window].shares.first]; }

void PerElement::expect(std::size_t window) {
  if (!in_pages(window)) return;
  let_go(true);  // of an update that threw: what it changed stays changed, as in memory
  pages_->expect(window);
}

void PerElement::bring(std::size_t window) {
  if (!in_pages(window)) return;
  let_go(true);  // likewise
  const at::TensorOptions& options = windows_[window].options;
  page_ = pages_->bring(window).view(options.dtype().toScalarType());
  window_ = window;  // also where the device has no room for it
  here_ = page_.to(options.device(), /*non_blocking=*/!waits_);
}

void PerElement::let_go(bool changed) {
  if (!window_) return;
  if (changed && here_.defined() && !here_.is_same(page_)) page_.copy_(here_, /*non_blocking=*/!waits_);
  here_.reset();
  page_.reset();
  pages_->let_go(*std::exchange(window_, std::nullopt), changed);
}

/// A share of what lies in pages.
class PerElement::Elsewhere : public StateElsewhere {
 public:
  Elsewhere(std::shared_ptr<PerElement> owner, std::size_t share) : owner_(std::move(owner)), share_(share) {
    const ElementsPlace& place = owner_->places_[share_];
    for (std::size_t w = 0; w < owner_->windows_.size(); ++w) {
      const StateWindow& window = owner_->windows_[w];
      if (window.shares.first > share_ || share_ >= window.shares.last) continue;
      pieces_.push_back({w, intersect(window.elements, place.elements)});
    }
  }

  at::TensorOptions options() const override { return owner_->options_[share_].device(at::kCPU); }

  at::Tensor read() const override {
    const at::Tensor all = at::empty({owner_->places_[share_].elements.size()}, options());
    each_piece(all, false, [](const at::Tensor& part, const at::Tensor& here) { part.copy_(here); });
    return all;
  }

  void write(const at::Tensor& values) const override {
    each_piece(values, true, [](const at::Tensor& part, const at::Tensor& here) { here.copy_(part); });
  }

 private:
  struct Piece {
    std::size_t window;
    Interval elements;  // of the buffer
  };

  template <typename Copy>
  void each_piece(const at::Tensor& all, bool changed, const Copy& copy) const {
    const std::int64_t begin = owner_->places_[share_].elements.begin;
    for (const Piece& piece : pieces_) {
      owner_->bring(piece.window);
      copy(all.narrow(0, piece.elements.begin - begin, piece.elements.size()), owner_->of(share_));
      owner_->let_go(changed);
    }
  }

  std::shared_ptr<PerElement> owner_;
  std::size_t share_;
  std::vector<Piece> pieces_;
};

std::shared_ptr<const StateElsewhere> PerElement::elsewhere(std::size_t i) {
  return std::make_shared<const Elsewhere>(shared_from_this(), i);
}

void PerElement::put_into(StateView& view, std::size_t i) {
  if (pages_)
    view.elsewhere = elsewhere(i);
  else
    view.tensor = of(i);
}

std::int64_t PerElement::bytes() const {
  std::int64_t sum = pages_ ? pages_->bytes_in_memory() : 0;
  for (const at::Tensor& buffer : buffers_) sum += static_cast<std::int64_t>(buffer.nbytes());
  return sum;
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
