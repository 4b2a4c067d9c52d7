// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "kernel_cases.h"

namespace riesz::testing {

/// Runs a case on a device, and names the kernels that it should queue there (`KernelCase::queued`) of which
/// the device's library was not asked for any, or has none. So LibTorch's operators have computed. Empty:
/// none, or the device has no library. One call at a time.
std::string kernels_not_found(const KernelCase& each, at::Device device);

}  // namespace riesz::testing
