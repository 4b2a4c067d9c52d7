// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::testing::pretend {

/// The kernel of every copy from, to or on the device. As CUDA's, it waits where one end is memory of the
/// host that is not pinned, is not contiguous or has another type, or where it is asked to block.
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking);

}  // namespace riesz::testing::pretend
