// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace riesz {

/// Within a catch: throws an Error that has the text of what was caught, the layer that it has left, and
/// `where`; what was caught is nested in it (std::rethrow_if_nested). An exception that is no std::exception
/// goes on as it is.
[[noreturn]] void throw_on(const std::string& where);

}  // namespace riesz
