// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/io/gguf/head_reader.h"
#include "riesz/io/gguf/metadata.h"

namespace riesz {

/// Reads `count` keys and values. @throws Error naming the file, the key and the rule that it breaks: each
/// key once, of 1 to 65535 bytes; known kinds; true and false as 1 and 0; lists within lists at most 8 deep.
GgufMetadata read_metadata(HeadReader& in, const std::string& file, std::int64_t count);

}  // namespace riesz
