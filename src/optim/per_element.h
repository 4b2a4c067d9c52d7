// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "riesz/optim/group.h"
#include "riesz/optim/store.h"

namespace riesz {

/// A share without its values: its parameter, place and size.
struct Extent {
  Parameter parameter;
  std::int64_t begin = 0;
  std::int64_t size = 0;
  at::TensorOptions options;
  std::size_t part = 0;
  bool counted = true;
  std::optional<std::size_t> copy_of = std::nullopt;
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

/// A number kept for each element of the shares, zero at first. It is one flat tensor for all neighbouring
/// shares of a part, type and device, wherever their values are.
class PerElement {
 public:
  /// For the shares of those parameters; for all without `has`.
  PerElement(std::string key, const std::vector<Extent>& shares, const Which& has = {});

  const std::string& key() const { return key_; }
  /// Is anything kept of share i?
  bool has(std::size_t i) const { return places_[i].has; }
  /// The numbers of shares [first, last), a view. These must be neighbours of one type.
  at::Tensor of(std::size_t first, std::size_t last) const;
  at::Tensor of(std::size_t i) const { return of(i, i + 1); }

 private:
  struct Place {
    bool has;
    std::size_t buffer;
    std::int64_t begin;
    std::int64_t size;
  };

  std::string key_;
  std::vector<Place> places_;
  std::vector<at::Tensor> buffers_;
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
