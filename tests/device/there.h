// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz::testing {

/// The same vector, on the pretend device.
Vector there(const Vector& x);

/// All workers of the job on a grid of one axis, "a".
Partition row();

/// Expects that a tensor is on the pretend device and has the bits of one on the CPU.
void expect_there(const at::Tensor& there, const at::Tensor& here);

/// What is computed on a device.
using Run = std::function<std::vector<at::Tensor>(at::Device)>;

/// Expects that a run on the pretend device gives tensors there, of the shapes and types of those on the CPU
/// and within 1e-12 of the largest element: another device may add in another order.
void expect_close_there(const Run& run);

}  // namespace riesz::testing
