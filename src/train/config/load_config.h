// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "riesz/train/config/config.h"

namespace riesz {

struct Key;

/// A configuration with `key=value` words over it. A word's value is TOML; one that is not counts as a text,
/// so data.text=README.md needs no quotes. `layout=dp2.tp4` sets layout.dp and layout.tp. Local. @throws
/// Error naming the word, the key, the value and the rule.
Config with_words(Config config, const std::vector<std::string>& words);

/// The configuration of a TOML file, then of words, which go over it (`with_words`). Relative paths in the
/// file start from its folder. Local. @throws Error naming the file or word, the key, the value and the rule:
/// on what is no TOML, unknown keys (with the nearest one that exists), wrong types, values out of range,
/// keys of another task.
Config load_config(const std::filesystem::path& file, const std::vector<std::string>& words);

/// @throws Error naming the key, where it is set, and what would read it, unless it is read (`is_read`).
void check_is_read(const Key& key, const Config& config);

/// What a single key cannot say: sizes that must fit together, and the job's number of ranks. Local.
/// @throws Error naming both sides; of a layout, also those that fit as many ranks.
void check_config(const Config& config, int ranks);

}  // namespace riesz
