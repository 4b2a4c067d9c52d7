// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/io/gguf/head_reader.h"
#include "riesz/io/gguf/metadata.h"

namespace riesz {

/// Reads `count` keys and values. @throws Error naming the file, the key and the rule that it breaks. Each
/// key must occur once and have 1 to 65535 bytes. Kinds must be known, true and false be 1 and 0, and lists
/// be nested at most 8 deep.
GgufMetadata read_metadata(HeadReader& in, const std::string& file, std::int64_t count);

}  // namespace riesz
