// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "riesz/comm/operation.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// A fibre: the workers along some axes through this one (`Partition::along`). It is for messages whose sizes
/// the spaces do not tell.
struct Fibre {
  std::vector<int> peers;  ///< world ranks, in rank order, this worker's too
  std::size_t me = 0;      ///< this worker's position among them
  std::string over;        ///< the axes, for people
  DigestBuilder digest;    ///< of what all workers of the fibre must have alike

  /// @throws Error, on behalf of `name`, if the partition is simulated and has several workers
  /// (`check_real`).
  static Fibre through_here(const std::string& name, const Partition& partition,
                            const std::vector<std::string>& axes);

  /// The operation, counted as `name`. Workers that give other axes, or rows of another shape, get an Error.
  Operation operation(const std::string& name, at::IntArrayRef row = {}) const;

  /// Sends sent[i] to worker i, and receives received[i] from it; skips this worker's own.
  void exchange(const Operation& operation, const std::vector<at::Tensor>& sent,
                const std::vector<at::Tensor>& received) const;
};

}  // namespace riesz
