// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace c10 {
struct Allocator;
}

namespace riesz {

/// While it lives, LibTorch computes nothing in this thread, in backward and in each `Thread` that it makes.
/// A function gives a tensor of the right shape, type and place in memory (a view of what it should be a view
/// of), which has no values: its memory is reserved and never touched, so it costs none. So a `Simulation`
/// runs a worker's part of a step of any model, in little time and memory. A value that the program reads to
/// go by it is read by `host_value`. CPU tensors only. Scopes nest.
///
/// @throws Error where a function of LibTorch is called whose shape is not known without values, or of which
/// there is no rule yet; from the call, naming it.
class WithoutValues {
 public:
  WithoutValues();
  ~WithoutValues();
  WithoutValues(const WithoutValues&) = delete;
  WithoutValues& operator=(const WithoutValues&) = delete;

 private:
  bool outer_;
  c10::Allocator* allocator_;
};

/// False where a `WithoutValues` is open: who has a kernel of his own leaves it out.
bool has_values();

}  // namespace riesz
