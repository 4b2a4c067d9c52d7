// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace riesz {

/// This process as a lock file names it, in a line: "process 12 on node1". Its start follows, and the boot
/// and process namespace in which it has its number. They tell it from all other processes.
std::string lock_holder();

/// "process 12 on node1" of such a line; "another process" of an empty one.
std::string name_of_holder(const std::string& line);

/// Is that process certainly gone? Only within its boot and namespace can that be told. Local.
bool is_gone(const std::string& line);

}  // namespace riesz
