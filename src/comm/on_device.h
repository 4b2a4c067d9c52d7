// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// A small CPU tensor on a device: the tensor itself on the CPU, else a copy that is on its way in the
/// current stream. Waits for nothing: the copy leaves from pinned memory.
at::Tensor on_device(const at::Tensor& host, at::Device device);

}  // namespace riesz
