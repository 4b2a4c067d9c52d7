// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace riesz {

/// A late value: a copy of a small tensor on the host, for a program that must not wait for its device.
/// Making it begins the copy in the current stream, behind what computes the tensor. The tensor may be
/// changed or let go immediately. The copy of a CPU tensor is there immediately.
///
///     const LateValue loss(x);             // x is still being computed
///     …                                    // the next step begins
///     log(host_value(loss.wait(), 0.0));   // has long arrived
class LateValue {
 public:
  explicit LateValue(const at::Tensor& x);

  /// Was the tensor on the CPU? Then the values are known at this place of the program, as on all workers.
  bool of_host() const { return event_ == nullptr; }
  /// Is the copy there? Never waits. The answer differs between workers, so what a program does must not
  /// depend on it.
  bool ready() const;
  /// The copy, of the tensor's shape and type; waits until it is there, and for nothing that was begun later.
  const at::Tensor& wait() const;

 private:
  struct Event;
  at::Tensor copy_;
  std::shared_ptr<const Event> event_;  // none for a CPU tensor
};

}  // namespace riesz
