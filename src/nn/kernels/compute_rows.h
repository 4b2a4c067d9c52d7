// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/nn/kernels/rows.h"

namespace riesz::detail {

/// Calls `kernel(team, row)` for rows 0 to `rows`: in a CPU's threads, or by the library of the device.
/// @pre the device is a CPU, or has_kernel<Kernel>(device)
template <typename Kernel>
void compute_rows(at::Device device, std::int64_t rows, std::int64_t elements_of_row, const Kernel& kernel) {
  if (device.is_cpu()) return for_each_row(rows, elements_of_row, kernel);
  queue_kernel(device, rows, elements_of_row, kernel);
}

}  // namespace riesz::detail
