// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace riesz {

class SharedMemory;

/// World ranks of the team's workers that share memory with this one, itself included, in the team's order.
/// They are those on its host; with RIESZ_TRANSPORT=mpi only itself. Local.
std::vector<int> ranks_sharing_memory(const std::vector<int>& team);

/// A host tensor: one tensor in memory that a team's workers on one host share. What one worker writes, the
/// others read. The program orders writes before reads by a message. The memory is freed with the last tensor
/// in it, on any worker.
class HostTensor {
 public:
  /// Its elements are not initialised. `team`: world ranks, this worker's among them. Collective over the
  /// team; each host makes a tensor of its own. Nothing is counted.
  /// @throws Error on all workers of the host if the system gives no memory, or one cannot open it.
  HostTensor(const std::vector<int>& team, at::IntArrayRef shape, at::ScalarType type);

  const at::Tensor& local() const { return local_; }
  /// `ranks_sharing_memory(team)`.
  const std::vector<int>& holders() const { return holders_; }
  /// From now on a write of this worker ends its program (SIGSEGV), if there are other holders.
  void make_read_only();

 private:
  std::vector<int> holders_;
  std::shared_ptr<SharedMemory> memory_;  // none where this worker is the only holder
  at::Tensor local_;
};

}  // namespace riesz
