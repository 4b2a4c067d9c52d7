// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// The number of a token in its tokenizer's vocabulary.
using TokenId = std::uint32_t;

}  // namespace riesz
