// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace c10 {
struct Allocator;
}

namespace riesz {

/// A scope without values: one in which LibTorch computes nothing in this thread, in backward and in each
/// `Thread` that it makes. There a function returns a tensor of the right shape and type, a view where it
/// should be one, without values. Its memory is reserved and never touched, so it costs none. So a
/// `Simulation` runs a worker's part of a step of any model in little time and memory. The program reads
/// values on which it decides by `host_value`. CPU tensors only. Scopes nest.
///
/// @throws Error naming the function of LibTorch, from its call, if it has no rule yet, or if the shape of
/// its result depends on values.
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

/// False while a `WithoutValues` is open: code with kernels of its own skips them.
bool has_values();

}  // namespace riesz
