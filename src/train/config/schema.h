// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "riesz/train/config/config.h"

namespace riesz {

/// The member of Config that holds a key's value. It also says the key's type.
using Field = std::variant<std::int64_t& (*)(Config&), double& (*)(Config&), std::string& (*)(Config&),
                           bool& (*)(Config&), std::vector<std::int64_t>& (*)(Config&)>;

/// A key that decides whether another one is read, and the values with which it is; of a number the least, of
/// a switch "true" or "false".
struct Readers {
  std::string key;
  std::vector<std::string> values;
  std::string or_key = {};  ///< another text, of which one of these values does too
};

/// One key of the configuration. Parsing, errors, `riesz train --help` and the guide all read this.
struct Key {
  std::string name;  ///< section.key, or a key alone
  Field field;
  std::string meaning;
  double least = 0;                  ///< of a number, or of each in a list
  double most = 0;                   ///< of a number; none where it is below `least`
  std::vector<std::string> choices;  ///< of a text, all that it may be; empty: anything
  std::vector<Readers> readers;      ///< it is read with all of these; none: always
  bool path = false;                 ///< a path: a relative one in a file starts from the file's folder
  bool several = false;              ///< several paths, separated by commas
  bool or_name = false;              ///< a path, or a name where nothing is at such a path
};

/// Every key, section by section.
const std::vector<Key>& schema();

/// The key of this name, or nullptr.
const Key* find_key(std::string_view name);

/// A path key's value, with each path replaced by f(path).
std::string with_each_path(const Key& key, const std::string& value,
                           const std::function<std::string(const std::string& path)>& f);

/// The known key that a wrong name may mean. The name may be what another program calls it, such as lr or
/// n_layer; have another section; or differ in at most one letter of three. Empty if there is none.
std::string nearest_key(std::string_view name);

/// Is a key with these readers read in this configuration?
bool is_read(const Readers& readers, Config config);
/// With all of its readers?
bool is_read(const Key& key, const Config& config);

/// The readers as text, such as `data.task = "text"`; for a key all, with "and" between.
std::string readers_text(const Readers& readers);
std::string readers_text(const Key& key);

/// What a value must be, such as "an integer, 1 or more" or "a number from 0 to 0.99".
std::string rule(const Key& key);

/// The text of a key's value and origin in a message, such as `train.steps = 50 (on the command line)`.
std::string value_and_origin(const Config& config, std::string_view name);

/// A config's value of the key as TOML writes it.
std::string value_text(const Key& key, Config config = {});

/// The whole configuration as TOML, which reads back as the same.
std::string to_toml(const Config& config);

/// All keys for a terminal, a line each; and as tables for the guide.
std::string schema_text();
std::string schema_markdown();

}  // namespace riesz
