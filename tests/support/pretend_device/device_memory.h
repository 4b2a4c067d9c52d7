// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>

namespace riesz::testing::pretend {

/// The device's allocator, which gives blocks of a cache to the current stream.
c10::DeviceAllocator& device_memory();

/// The host memory that stands for what is at an address of the device, and the other way about.
std::byte* on_host(const void* device);
void* on_device(const void* host);

}  // namespace riesz::testing::pretend
