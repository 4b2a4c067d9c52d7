// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/generation/text_model.h"
#include "riesz/partition/vector.h"

namespace riesz::detail {

/// Where a model computes: its parameters' device.
at::Device device_of(const TextModel& model);

/// Ids of the host as a vector of X with their shape, on a device. Waits for nothing.
Vector send_ids(const Space& X, const at::Tensor& ids, at::Device device);

}  // namespace riesz::detail
