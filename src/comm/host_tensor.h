// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace riesz {

class SharedMemory;

/// The workers of a team, as world ranks in the team's order, that share memory with this one, itself among
/// them: those on its host; with RIESZ_TRANSPORT=mpi itself alone. Local.
std::vector<int> holders_here(const std::vector<int>& team);

/// A tensor in memory that the workers of a team on one host share: each holds the whole of it, and what one
/// writes the others read. The program orders writes before reads, by a message. The memory is freed when the
/// last tensor in it is gone, on any of them.
class HostTensor {
 public:
  /// Its elements are not initialised. `team`: world ranks, this worker's among them. Collective over the
  /// team; each host makes a tensor of its own. Nothing is counted.
  /// @throws Error on all workers of the host if the system gives no memory, or one cannot open it.
  HostTensor(const std::vector<int>& team, at::IntArrayRef shape, at::ScalarType type);

  const at::Tensor& local() const { return local_; }
  /// `holders_here(team)`.
  const std::vector<int>& holders() const { return holders_; }
  /// From now on a write of this worker ends its program (SIGSEGV), if there are other holders.
  void make_read_only();

 private:
  std::vector<int> holders_;
  std::shared_ptr<SharedMemory> memory_;  // none where this worker is the only holder
  at::Tensor local_;
};

}  // namespace riesz
