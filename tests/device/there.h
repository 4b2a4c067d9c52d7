// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
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

/// How a run on a device differs from one on the CPU; empty: it gives tensors there, of the same shapes and
/// types and within 1e-12 of the largest element, as another device may add in another order.
std::string difference_on(at::Device device, const Run& run);

/// On the pretend device.
std::string difference_there(const Run& run);

/// Expects that there is no difference.
void expect_close_there(const Run& run);

/// The operators of LibTorch that any thread calls in `call`, such as "aten::gather".
std::set<std::string> operators_of(const std::function<void()>& call);

}  // namespace riesz::testing
