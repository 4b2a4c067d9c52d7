// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::testing {

/// A device for tests on machines that have none but the CPU: "pretend:0", of LibTorch's type PrivateUse1.
/// Its memory cannot be read where a tensor's data_ptr() says it is: code that takes that for host memory
/// ends in a segmentation fault. Tensors come and go by `to` and `copy_`. Every operation is that of the CPU,
/// with its bits, save those that choose another formula for another device. Gradients run in a thread of the
/// device's own, as those of any device do.
///
/// As on a real device, an operation on its tensors and on those of the CPU throws a c10::Error that names
/// both, unless the latter have no dims.
at::Device pretend_device();

}  // namespace riesz::testing
