// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace riesz::testing::pretend {

/// The device's streams and events, as c10 asks for them.
const c10::impl::DeviceGuardImplInterface& guard();

}  // namespace riesz::testing::pretend
