// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/nccl/functions.h"

#include <array>
#include <atomic>

namespace riesz::nccl {
namespace {

/// Constant-initialised: a library may set its functions before main.
std::array<std::atomic<const Functions*>, at::COMPILE_TIME_MAX_DEVICE_TYPES> by_type{};

}  // namespace

const Functions* functions_for(at::DeviceType type) { return by_type.at(static_cast<std::size_t>(type)); }

void set_functions_for(at::DeviceType type, const Functions* functions) {
  by_type.at(static_cast<std::size_t>(type)) = functions;
}

}  // namespace riesz::nccl
