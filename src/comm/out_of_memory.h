// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <string>

namespace riesz {

/// What follows the text of an exception that ends a job: if it says that the memory of a device or of the
/// host is full, what the host has left and the settings that need less; else nothing. An exception that is
/// nested in it counts too. Private to src/comm.
std::string out_of_memory_remedy(const std::exception_ptr& thrown);

}  // namespace riesz
