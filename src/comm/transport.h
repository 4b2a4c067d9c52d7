// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace riesz {

/// A message to or from the worker of world rank `peer`: all bytes of `data`, which is contiguous.
struct Parcel {
  int peer;
  at::Tensor data;
};

/// Moves bytes between the processes of the job. Messages between two workers arrive in the order they were sent.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Sends all of `sends` and fills all of `receives`; returns when both are done. Both sides of a message know its
  /// size. Every worker named takes part, in the same order of calls; no empty parcels.
  virtual void exchange(const std::vector<Parcel>& sends, const std::vector<Parcel>& receives) = 0;
};

}  // namespace riesz
