// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Generator.h>

namespace riesz::testing::pretend {

/// The device's generator of random numbers: the host draws a seed for each call.
const at::Generator& generator();

/// A generator for one call, which is drawn where the call is queued.
at::Generator generator_of_one_call();

}  // namespace riesz::testing::pretend
