// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace riesz {

class SharedMemory;

/// Those of a team, world ranks, who may map memory that this worker maps, itself among them, in the team's
/// order: they are on its host, and with RIESZ_TRANSPORT=mpi it is alone. Local.
std::vector<int> holders_here(const std::vector<int>& team);

/// A tensor that the workers of a team who are on one host hold together: each has all of it, in one memory.
/// What one writes the others read; who wrote before whom reads is the program's to say, by a message. The
/// memory goes with the last tensor that has it.
class HostTensor {
 public:
  /// Of any elements. Collective over the team, world ranks with this worker's; each host has one of its own.
  /// Nothing is counted.
  /// @throws Error on all workers of the host if the system gives no memory, or one cannot open it.
  HostTensor(const std::vector<int>& team, at::IntArrayRef shape, at::ScalarType type);

  const at::Tensor& local() const { return local_; }
  /// `holders_here(team)`.
  const std::vector<int>& holders() const { return holders_; }
  /// Where there are other holders, a write of this worker ends its program from now on (SIGSEGV).
  void make_read_only();

 private:
  std::vector<int> holders_;
  std::shared_ptr<SharedMemory> memory_;  // nullptr: it is this worker's alone
  at::Tensor local_;
};

}  // namespace riesz
