// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace riesz {

/// Such as "2 h 05 min", "3 min 20 s", "41 s".
std::string duration(double seconds);

/// With commas between thousands: 1234567 is "1,234,567".
std::string grouped(std::int64_t number);

}  // namespace riesz
