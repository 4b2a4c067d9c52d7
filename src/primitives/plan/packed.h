// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <vector>

#include "riesz/comm/communicator.h"

namespace riesz {

/// Packed messages: the messages of several moves in one round, merged into one to each peer and one from
/// each. The workers involved have the same moves in the same order. Both ends compare the labels, sizes and
/// types of all parts.
class Packed {
 public:
  /// Each transfer has a label. `operation` outlives it.
  Packed(const Operation& operation, std::vector<Transfer> sends, std::vector<Transfer> receives);

  /// The merged transfers, one for each peer, in rank order.
  std::vector<Transfer> sends() const { return addressed(sends_, out_); }
  std::vector<Transfer> receives() const { return addressed(receives_, in_); }
  /// Copies each part that came to where it goes.
  void unpack() const;

 private:
  using Rooms = std::map<int, at::Tensor>;  // by peer
  std::vector<Transfer> addressed(const std::vector<Transfer>& transfers, const Rooms& rooms) const;

  const Operation& operation_;
  std::vector<Transfer> sends_, receives_;
  Rooms out_, in_;
};

}  // namespace riesz
