// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/comm/wait.h"

namespace riesz {

/// One application of a primitive under way. It is made in program order, which gives its messages their
/// place among those of other calls; then launched with x; then `done` moves it on, until it has y. One
/// thread at a time.
class Flight {
 public:
  virtual ~Flight() = default;

  virtual void launch(const at::Tensor& x) = 0;
  /// Goes as far as it can without waiting; true at the end.
  virtual bool done() = 0;
  /// Once it is done.
  virtual at::Tensor result() = 0;
  /// World ranks of those who have not arrived.
  virtual std::vector<int> waits_for() const = 0;
};

/// From launch to end.
template <typename SomeFlight>
at::Tensor fly(SomeFlight& flight, const std::string& operation, const at::Tensor& x) {
  flight.launch(x);
  wait_until(
      operation, [&] { return flight.done(); }, [&] { return flight.waits_for(); });
  return flight.result();
}

}  // namespace riesz
