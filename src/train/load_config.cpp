// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/load_config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "riesz/comm/error.h"
#include "riesz/train/layout.h"
#include "riesz/train/schema.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

std::string describe(const toml::node& value) {
  std::ostringstream out;
  if (value.is_table()) {
    out << "a table";
  } else {
    value.visit([&](const auto& typed) { out << typed; });
  }
  return out.str();
}

const Key& known(const std::string& origin, const std::string& name) {
  const Key* key = find_key(name);
  RIESZ_CHECK(key != nullptr, origin, ": unknown key \"", name, "\"; did you mean \"", nearest_key(name),
              "\"? `riesz train --help` lists all keys");
  return *key;
}

bool allowed(const Key& key, const std::string& value) {
  return key.choices.empty() || std::find(key.choices.begin(), key.choices.end(), value) != key.choices.end();
}

template <typename Number>
bool allowed(const Key& key, Number value) {
  return static_cast<double>(value) >= key.least && static_cast<double>(value) <= key.most;
}

/// Puts a value of the right type into the config.
void set(Config& config, const std::string& origin, const Key& key, const toml::node& node) {
  std::visit(
      [&](auto field) {
        using Value = std::remove_reference_t<decltype(field(config))>;
        std::optional<Value> value = node.value_exact<Value>();
        if constexpr (std::is_same_v<Value, double>) {
          if (!value) value = node.value<double>();  // an integer is a number too
        }
        RIESZ_CHECK(value && allowed(key, *value), origin, ": ", key.name, " is ", describe(node),
                    "; it must be ", rule(key));
        field(config) = *value;
      },
      key.field);
}

void start_from(const fs::path& folder, Config& config, const Key& key) {
  std::string& text = std::get<std::string& (*)(Config&)>(key.field)(config);
  if (text.empty()) return;
  const fs::path path = (folder / text).lexically_normal();
  text = (path.has_filename() ? path : path.parent_path()).string();
}

void read_table(Config& config, const fs::path& file, const toml::table& table,
                std::set<std::string>& given) {
  const std::string origin = file.string();
  for (const auto& [section, content] : table) {
    const std::string name(section.str());
    if (!content.is_table()) {
      set(config, origin, known(origin, name), content);
      given.insert(name);
      continue;
    }
    for (const auto& [entry, value] : *content.as_table()) {
      const Key& key = known(origin, name + "." + std::string(entry.str()));
      set(config, origin, key, value);
      if (key.path) start_from(file.parent_path(), config, key);
      given.insert(key.name);
    }
  }
}

toml::table parse(const fs::path& file) {
  RIESZ_CHECK(fs::is_regular_file(file), "there is no configuration file ", file);
  try {
    return toml::parse_file(file.string());
  } catch (const toml::parse_error& error) {
    throw_error(concat(file.string(), ", line ", error.source().begin.line, ": ", error.description()));
  }
}

/// The TOML of a word's value; a bare word of a text key is that text.
toml::table parse_word(const std::string& value, const Key& key) {
  const bool text = std::holds_alternative<std::string& (*)(Config&)>(key.field);
  try {
    toml::table parsed = toml::parse("value = " + value);
    if (!text || (parsed.size() == 1 && parsed["value"].is_string())) return parsed;
  } catch (const toml::parse_error&) {
    // not TOML: a text
  }
  return toml::table{{"value", value}};
}

void read_word(Config& config, const std::string& word, std::set<std::string>& given) {
  const std::size_t equals = word.find('=');
  RIESZ_CHECK(equals != std::string::npos && equals > 0, "\"", word,
              "\" on the command line is no setting; write key=value, such as train.steps=100");
  const std::string origin = "\"" + word + "\" on the command line";
  const Key& key = known(origin, word.substr(0, equals));
  set(config, origin, key, *parse_word(word.substr(equals + 1), key).get("value"));
  given.insert(key.name);
}

}  // namespace

Config load_config(const fs::path& file, const std::vector<std::string>& words) {
  Config config;
  std::set<std::string> given;
  read_table(config, file, parse(file), given);
  for (const std::string& word : words) read_word(config, word, given);
  for (const std::string& name : given) {
    const Key& key = *find_key(name);
    RIESZ_CHECK(is_read(key, config), name, " is set, which is read only with ", readers_text(key), ", but ",
                key.choice, " is ", value_text(*find_key(key.choice), config), "; remove it, or set ",
                key.choice, "=", key.readers.front());
  }
  if (config.output.folder.empty()) config.output.folder = (fs::path("runs") / file.stem()).string();
  return config;
}

void check_config(const Config& config, int ranks) {
  const auto& [precision, layout, model, data, optimizer, schedule, train, output] = config;
  const bool few = layout.dp <= ranks && layout.sp <= ranks && layout.tp <= ranks;
  RIESZ_CHECK(few && layout.dp * layout.sp * layout.tp == ranks,
              "layout.dp x layout.sp x layout.tp = ", layout.dp, " x ", layout.sp, " x ", layout.tp,
              " workers, but the job has ", ranks, ranks == 1 ? " rank" : " ranks",
              "; start as many with mpirun -n, or set them so that their product is ", ranks, "; ",
              possible_layouts(ranks, layout));
  layout_axes(layout);  // says what does not fit
  RIESZ_CHECK(model.width % model.heads == 0, "model.width = ", model.width,
              " is no multiple of model.heads = ", model.heads, ": each head has an equal part of the width");
  const bool warmed = schedule.kind == "cosine" || schedule.kind == "linear" || schedule.kind == "constant";
  RIESZ_CHECK(!warmed || schedule.warm_up < train.steps, "schedule.warm_up = ", schedule.warm_up,
              " must be less than train.steps = ", train.steps);
  RIESZ_CHECK(schedule.kind == "constant" || schedule.kind == "range_test" ||
                  schedule.floor <= optimizer.learning_rate,
              "schedule.floor = ", schedule.floor,
              " is above optimizer.learning_rate = ", optimizer.learning_rate);
  RIESZ_CHECK(
      schedule.kind != "range_test" || schedule.floor > 0,
      "schedule.kind = \"range_test\" starts from schedule.floor, which is 0; set the least rate to try");
  RIESZ_CHECK(optimizer.kind != "one_bit_adam" || layout.zero <= 1, "layout.zero = ", layout.zero,
              ": optimizer.kind = \"one_bit_adam\" exchanges whole momenta; set layout.zero to 0 or 1");
  RIESZ_CHECK(
      optimizer.kind != "one_bit_adam" || optimizer.clip == 0, "optimizer.clip = ", optimizer.clip,
      ": optimizer.kind = \"one_bit_adam\" does not sum gradients, so it has no norm of them to clip; "
      "set optimizer.clip to 0");
  RIESZ_CHECK(train.micro_batches <= train.batch, "train.micro_batches = ", train.micro_batches,
              " parts of train.batch = ", train.batch, " sequences; each has at least one");
  RIESZ_CHECK(data.task != "adder" || model.context >= 3 * data.digits, "model.context = ", model.context,
              " is too short for sums of data.digits = ", data.digits, " digits: ", 3 * data.digits,
              " tokens");
  RIESZ_CHECK(data.task != "text" || !data.text.empty(),
              "data.text names no file to learn from; add data.text=FILE, or a folder");
}

}  // namespace riesz
