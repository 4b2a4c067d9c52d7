// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/partition/interval.h"

namespace riesz::detail {

/// The indices that intervals hold, int64, one after another. They are made on the device.
at::Tensor positions(const Intervals& held, at::Device device);

}  // namespace riesz::detail
