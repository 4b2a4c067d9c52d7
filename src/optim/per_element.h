// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/optim/group.h"
#include "riesz/optim/pages.h"
#include "riesz/optim/state.h"
#include "riesz/optim/store.h"
#include "riesz/partition/interval.h"

namespace riesz {

/// A share without its values: its parameter, place and size.
struct Extent {
  Parameter parameter;
  std::int64_t begin = 0;
  std::int64_t size = 0;
  at::TensorOptions options;  ///< of what is trained: of a half value, those of its master
  std::size_t part = 0;
  bool counted = true;
  std::optional<std::size_t> copy_of = std::nullopt;
  bool half = false;  ///< are its values of a half type whose masters lie elsewhere?
};

/// The extents of shares, in their order.
std::vector<Extent> extents(const std::vector<Share>& shares);

/// For each share, the place of the share where sums over its parameter are made. That is its own place; for
/// a copy, the place of the original.
std::vector<std::size_t> places_of_sums(const std::vector<Extent>& shares);

/// The shares of one part.
struct StorePart {
  std::size_t number = 0;
  std::size_t first = 0;
  std::size_t last = 0;  ///< behind the last
};

/// The parts of shares, in the order of their parts.
std::vector<StorePart> parts_of(const std::vector<Share>& shares, std::size_t parts);

/// Where the elements of each share lie among those of its buffer: neighbouring shares of one part, type and
/// device, which all have half values or none.
struct ElementsPlace {
  std::size_t buffer = 0;
  Interval elements;
};

/// The places of the shares of those parameters, of all without `has`; others have no elements.
std::vector<ElementsPlace> places_of_elements(const std::vector<Extent>& shares, const Which& has = {});

/// Neighbouring elements of a buffer, which are brought, updated and let go at once.
struct StateWindow {
  StorePart shares;   ///< those that have some of them
  Interval elements;  ///< of the buffer
  at::TensorOptions options;

  std::int64_t bytes() const;
};

/// The windows of all shares, part by part, each of at most so many bytes and cut where registers are full.
/// The same for every number kept.
std::vector<StateWindow> windows_of(const std::vector<Extent>& shares, std::int64_t most_bytes);

/// A number kept for each element of the shares, zero at first. It is one flat tensor for all neighbouring
/// shares of a part, type and device, wherever their values are. In a `StatePlace` it is a page for each
/// window, and only the window that was brought is in memory.
class PerElement : public std::enable_shared_from_this<PerElement> {
 public:
  /// For the shares of those parameters; for all without `has`.
  PerElement(std::string key, const std::vector<Extent>& shares, const Which& has = {});
  /// In a place, for all shares, or those with half values. `what`: for errors.
  enum class Of { all, halves };
  PerElement(std::string key, const std::vector<Extent>& shares, std::vector<StateWindow> windows,
             StatePlace& place, const std::string& what, Of of = Of::all);

  const std::string& key() const { return key_; }
  /// Is anything kept of share i?
  bool has(std::size_t i) const { return has_[i]; }
  /// The numbers of shares [first, last), a view; of windows, those in the one that is here. The shares must
  /// be neighbours of one type.
  at::Tensor of(std::size_t first, std::size_t last) const;
  at::Tensor of(std::size_t i) const { return of(i, i + 1); }

  /// Begins to read a window; brings it here; lets it go, written if it was changed. Nothing of what is in
  /// memory, and of windows of which it has nothing.
  void expect(std::size_t window);
  void bring(std::size_t window);
  void let_go(bool changed);

  /// The tensor of a view of share i, or where it lies else.
  void put_into(StateView& view, std::size_t i);
  /// Share i of what lies in a place.
  std::shared_ptr<const StateElsewhere> elsewhere(std::size_t i);
  /// What it takes in memory, and what lies elsewhere.
  std::int64_t bytes() const;
  std::int64_t bytes_elsewhere() const { return pages_ ? pages_->bytes() : 0; }

 private:
  class Elsewhere;

  bool in_pages(std::size_t window) const;

  std::string key_;
  std::vector<bool> has_;
  std::vector<ElementsPlace> places_;
  std::vector<at::Tensor> buffers_;
  // In a place:
  std::vector<at::TensorOptions> options_;  // of each share
  std::vector<StateWindow> windows_;
  std::unique_ptr<Pages> pages_;
  bool waits_ = true;                  // for copies from and to a device
  std::optional<std::size_t> window_;  // that is here
  at::Tensor page_;                    // its numbers on the host
  at::Tensor here_;                    // the same on the values' device
};

/// Neighbouring shares whose values lie one behind the other in memory, and whose gradients do too, as one.
struct Run {
  std::size_t first;
  std::size_t last;  ///< behind the last
  at::Tensor value;
  at::Tensor gradient;
};

/// The shares of a part as the longest runs whose members are `alike`. A run neither begins nor ends with an
/// empty share.
std::vector<Run> runs(const std::vector<Share>& shares, const StorePart& part,
                      const std::function<bool(std::size_t, std::size_t)>& alike);

}  // namespace riesz
