// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace riesz::bench {

/// Prints a row of the table that scripts/check_gpu.sh shows, on rank 0: "row", name, value, unit, target and
/// verdict, with tabs between.
void print_row(const std::string& name, double value, const std::string& unit, const std::string& target,
               const std::string& verdict);

/// The text of the first rank that has one, with the rank's number; empty: no rank has one. Collective over
/// the job.
std::string said_by_a_rank(const std::string& mine);

/// Waits for all that is queued on a device. Nothing on a CPU.
void finish(at::Device device);

/// Seconds of a call: the median of some runs of several calls each, the slowest rank's. Collective.
double seconds_of(at::Device device, const std::function<void()>& call);

/// The next three print rows, and return whether all is well.
struct CheckOptions {
  std::int64_t elements = std::int64_t{1} << 26;  ///< of a kernel's operand, or of a sum
  std::string size = "124M";                      ///< of GPT-2
  std::int64_t batch = 8, context = 1024;
  int steps = 20;
  double target = 0;     ///< tokens a second; 0: none
  double peer = 0;       ///< tokens a second of compiled PyTorch; 0: not measured
  double noise = 0;      ///< of gradients, to see how far their rounding carries; on one rank
  bool precise = false;  ///< losses: in fp64 there, to see what fp32 rounds
};

/// Each kernel beside the CPU's, where LibTorch's operators do not compute in its place, and its part of the
/// bandwidth that a copy reaches.
bool check_kernels(at::Device device, const CheckOptions& options);
/// AllReduce, as nccl-tests count: bytes/s·2(p − 1)/p. Collective over the job.
bool check_all_reduce(at::Device device, const CheckOptions& options);
/// Tokens a second of a GPT-2 in bf16. Collective over the job.
bool check_gpt(at::Device device, const CheckOptions& options);
/// The losses of a GPT in fp32 beside those of the CPU, within 1e-4. How the bound was measured:
/// docs/internals/devices.md. Collective over the job.
bool check_losses(at::Device device, const CheckOptions& options);

}  // namespace riesz::bench
