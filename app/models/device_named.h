// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace riesz::app {

/// This rank's device of the type that keys and options call "cpu" or "cuda". All ranks call it alike: for
/// "cuda" it is collective over the job, as `device_of_this_rank`.
/// @throws Error naming these for another name, and as `device_of_this_rank`.
at::Device device_named(const std::string& name);

}  // namespace riesz::app
