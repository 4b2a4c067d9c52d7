// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <string>

namespace riesz {

/// A text for the end of a job's error. If the exception, or one nested in it, says that a memory is full, the
/// text names the settings that need less. Of the host's memory it also says how much is left. Else it is
/// empty. Private to src/comm.
std::string out_of_memory_remedy(const std::exception_ptr& thrown);

}  // namespace riesz
