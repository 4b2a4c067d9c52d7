// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace riesz::testing {

/// A stand-in for a device's library of kernels, for tests on machines without a GPU: while it lives, the
/// pretend device has the kernels of all lists. Each call is work on the current stream. It runs the
/// functions of elements and rows that are compiled for GPUs, on the CPU; rows by the CPU's teams, or by a
/// GPU's (`RowsByBlocks`). There is one at a time.
class KernelStandIn {
 public:
  KernelStandIn();
  ~KernelStandIn();
  KernelStandIn(const KernelStandIn&) = delete;
  KernelStandIn& operator=(const KernelStandIn&) = delete;

  /// How many kernels were queued whose type's name has this text, such as "NormOfRow"; "": all.
  static std::int64_t queued(const std::string& text = "");
  /// How many kernels it has.
  static std::int64_t kernels();
};

/// While it lives, the stand-in computes rows by the team that computes them on a GPU (cuda/team.h), with as
/// many threads, on the stand-in for a block. A row takes some milliseconds.
class RowsByBlocks {
 public:
  RowsByBlocks();
  ~RowsByBlocks();
  RowsByBlocks(const RowsByBlocks&) = delete;
  RowsByBlocks& operator=(const RowsByBlocks&) = delete;
};

}  // namespace riesz::testing
