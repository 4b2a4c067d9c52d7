// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/settings.h"

#include "riesz/comm/error.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/schema.h"

namespace riesz::app {

Settings::Settings(CLI::App& command) {
  command.add_option("CONFIG.toml", file_, "What to train; see examples/")->required();
  command.add_option("key=value", words_, "Settings that go over the file's, such as layout=dp2.tp2");
  command.footer("Keys, their defaults and what they may be:\n" + schema_text());
}

std::vector<std::string> Settings::keys() {
  std::vector<std::string> names;
  for (const Key& key : schema()) names.push_back(key.name);
  return names;
}

void Settings::check() const { with_words(Config(), words_); }

Config Settings::config() const { return load_config(file_, words_); }

std::optional<Config> Settings::readable() const {
  try {
    return config();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace riesz::app
