// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace riesz {

/// The bytes of whole lines that hold so many.
std::int64_t disk_lines(std::int64_t bytes);

/// Memory for transfers: it begins at a line, and is zero. The system maps it for this alone. So a transfer
/// that still writes after an error never writes to memory of others. It lies in huge pages where the system
/// has some, for a disk moves these in fewer requests. @throws Error naming `what` if there is none.
std::shared_ptr<std::byte> disk_memory(const std::string& what, std::int64_t bytes);

}  // namespace riesz
