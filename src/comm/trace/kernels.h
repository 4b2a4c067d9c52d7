// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// Kernel ranges: while one lives, each operation of LibTorch that the program calls is a range of kind
/// `kernel`, such as "aten::matmul", on any thread. Operations that it calls itself are part of it. On the
/// CPU the range lasts as long as the kernel. On other devices it lasts as long as the host takes to launch
/// it. An operation then costs about a microsecond more.
class KernelRanges {
 public:
  KernelRanges();
  ~KernelRanges();
  KernelRanges(const KernelRanges&) = delete;
  KernelRanges& operator=(const KernelRanges&) = delete;

 private:
  std::uint64_t callback_;
};

}  // namespace riesz
