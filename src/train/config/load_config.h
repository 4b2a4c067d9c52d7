// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "riesz/train/config/config.h"

namespace riesz {

struct Key;

/// A configuration with the keys that `key=value` words set. A word's value is TOML, or else a text, so
/// data.text=README.md needs no quotes. `layout=dp2.tp4` sets layout.dp and layout.tp. Local. @throws Error
/// naming the word, the key, the value and the rule.
Config with_words(Config config, const std::vector<std::string>& words);

/// The configuration of a TOML file, with the keys that words set (`with_words`). Relative paths in the file
/// start from its folder. Local.
/// @throws Error naming the file or word, the key, the value and the rule. It throws on text that is not
/// TOML, unknown keys (naming the nearest known one), wrong types, values out of range, and keys of another
/// task.
Config load_config(const std::filesystem::path& file, const std::vector<std::string>& words);

/// @throws Error unless the key is read (`is_read`), naming it, where it is set, and the settings that would
/// read it.
void check_is_read(const Key& key, const Config& config);

/// Checks what a single key cannot: sizes that must fit together, and the job's number of ranks. Local.
/// @throws Error naming both sides; for a layout also naming layouts that fit this number of ranks.
void check_config(const Config& config, int ranks);

}  // namespace riesz
