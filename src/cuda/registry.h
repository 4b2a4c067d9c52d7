// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <typeinfo>

namespace riesz::cuda {

using KernelLaunch = const char* (*)(const void* kernel, std::int64_t count, std::int64_t elements,
                                     void* stream);

/// Adds a kernel to those that `riesz_cuda_find` finds.
void registry_add(const std::string& name, KernelLaunch function, std::size_t size);

}  // namespace riesz::cuda
