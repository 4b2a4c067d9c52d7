// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <vector>

#include "riesz/comm/communicator.h"

namespace riesz {

/// The messages of several moves in one round, packed into one to each peer and one from each. The workers
/// involved have the same moves, in the same order; both ends compare the labels, sizes and types of all
/// parts.
class Packed {
 public:
  /// Each parcel has a label. `operation` outlives it.
  Packed(const Operation& operation, std::vector<Parcel> sends, std::vector<Parcel> receives);

  /// One for each peer, in rank order.
  std::vector<Parcel> sends() const { return addressed(sends_, out_); }
  std::vector<Parcel> receives() const { return addressed(receives_, in_); }
  /// Copies each part that came to its place.
  void unpack() const;

 private:
  using Rooms = std::map<int, at::Tensor>;  // by peer
  std::vector<Parcel> addressed(const std::vector<Parcel>& parcels, const Rooms& rooms) const;

  const Operation& operation_;
  std::vector<Parcel> sends_, receives_;
  Rooms out_, in_;
};

}  // namespace riesz
