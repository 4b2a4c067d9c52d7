// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/load_config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <sstream>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/train/config/layout_word.h"
#include "riesz/train/config/schema.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

std::string describe(const toml::node& value) {
  if (value.is_table()) return "a table";
  if (const auto text = value.value_exact<std::string>()) return in_quotes(*text);
  if (const auto number = value.value_exact<double>(); number && std::isnan(*number)) return "nan";
  std::ostringstream out;
  value.visit([&](const auto& typed) { out << typed; });
  return in_short(out.str());
}

/// Keys of earlier versions, and what stands in their place.
constexpr std::pair<const char*, const char*> kEarlier[] = {
    {"layout.rounds", "it is layout.panels"},
    {"layout.keep", "it is layout.keep_gathered"},
    {"layout.cheapest", "it is layout.least_traffic"},
    {"pipeline.micro_batches",
     "train.micro_batches says how many parts a batch has, and a pipeline has them all under way together; "
     "set "
     "it to the product of the two keys"}};

const Key& known(const std::string& origin, const std::string& name) {
  const Key* key = find_key(name);
  if (key != nullptr) return *key;
  for (const auto& [earlier, now] : kEarlier)
    RIESZ_CHECK(name != earlier, origin, ": ", in_quotes(name), " is no key any more; ", now);
  const std::string near = nearest_key(name);
  throw_error(concat(origin, ": unknown key ", in_quotes(name), "; ",
                     near.empty() ? "" : "did you mean " + in_quotes(near) + "? ",
                     "`riesz train --help` lists all keys"));
}

bool allowed(const Key& key, const std::string& value) {
  return key.choices.empty() || std::find(key.choices.begin(), key.choices.end(), value) != key.choices.end();
}

template <typename Number>
bool allowed(const Key& key, Number value) {
  return static_cast<double>(value) >= key.least && static_cast<double>(value) <= key.most;
}

bool allowed(const Key&, bool) { return true; }

/// The integers of a list; nothing where an element is none, or where there is no element.
std::optional<std::vector<std::int64_t>> integers_of(const toml::node& node) {
  const toml::array* const list = node.as_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  std::vector<std::int64_t> all;
  for (const toml::node& each : *list) {
    const std::optional<std::int64_t> value = each.value_exact<std::int64_t>();
    if (!value) return std::nullopt;
    all.push_back(*value);
  }
  return all;
}

bool allowed(const Key& key, const std::vector<std::int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t each) { return allowed(key, each); });
}

/// Puts a value of the right type into the config.
void set(Config& config, const std::string& origin, const Key& key, const toml::node& node) {
  std::visit(
      [&](auto field) {
        using Value = std::remove_reference_t<decltype(field(config))>;
        std::optional<Value> value;
        if constexpr (std::is_same_v<Value, std::vector<std::int64_t>>)
          value = integers_of(node);
        else
          value = node.value_exact<Value>();
        if constexpr (std::is_same_v<Value, double>) {
          if (!value) value = node.value<double>();  // an integer is a number too
        }
        RIESZ_CHECK(value && allowed(key, *value), origin, ": ", key.name, " is ", describe(node),
                    "; it must be ", rule(key));
        field(config) = *value;
      },
      key.field);
}

/// As if nothing had set the key.
void set_back(Config& config, const Key& key) {
  Config defaults;
  std::visit([&](auto field) { field(config) = field(defaults); }, key.field);
  config.origins.erase(key.name);
}

/// Sets the whole layout: an axis that the word does not name has one worker. A file's keys that only its own
/// stages or its own sharing of experts read go with these. `set_from`: where the keys are said to be set.
void set_layout(Config& config, const std::string& origin, const std::string& set_from,
                const std::string& text) {
  const std::vector<AxisExtent> extents = extents_of(origin, text);
  for (const std::string& axis : axes_of_layouts()) set_back(config, *find_key("layout." + axis));
  for (const AxisExtent& extent : extents) {
    const Key& key = *find_key("layout." + extent.axis);
    if (const auto* const list = std::get_if<std::vector<std::int64_t>& (*)(Config&)>(&key.field))
      (*list)(config) = extent.counts;
    else
      std::get<std::int64_t& (*)(Config&)>(key.field)(config) = extent.counts.front();
    config.origins[key.name] = set_from;
  }
  for (const Key& key : schema()) {
    const auto of_layout = [&](const Readers& readers) {
      return readers.key.starts_with("layout.") && !is_read(readers, config);
    };
    const auto origin_of = config.origins.find(key.name);
    const bool of_file = origin_of != config.origins.end() && origin_of->second != kCommandLine;
    if (of_file && std::any_of(key.readers.begin(), key.readers.end(), of_layout)) set_back(config, key);
  }
}

/// The word layout=… is the whole layout, so what a word before it says of an axis must not be lost.
void check_keeps(const std::vector<std::string>& words, std::size_t at, const Config& config) {
  const std::string& word = words[at];
  if (!word.starts_with("layout=")) return;
  const std::vector<AxisExtent> extents =
      extents_of(in_quotes(word) + " on " + kCommandLine, word.substr(word.find('=') + 1));
  for (std::size_t i = 0; i < at; ++i) {
    const std::string key = words[i].substr(0, words[i].find('='));
    const auto is_of = [&](const std::string& axis) { return key == "layout." + axis; };
    const bool axis = std::any_of(axes_of_layouts().begin(), axes_of_layouts().end(), is_of);
    const bool named = std::any_of(extents.begin(), extents.end(),
                                   [&](const AxisExtent& extent) { return is_of(extent.axis); });
    if (!axis || named) continue;
    RIESZ_CHECK(value_text(*find_key(key), config) == value_text(*find_key(key), Config()), in_quotes(word),
                " on ", kCommandLine, " says the whole layout, and ", in_quotes(words[i]),
                " before it is of an axis that it does not name; name all axes in it, or put ",
                in_quotes(words[i]), " behind it");
  }
}

void start_from(const fs::path& folder, Config& config, const Key& key) {
  std::string& text = std::get<std::string& (*)(Config&)>(key.field)(config);
  text = with_each_path(key, text, [&](const std::string& one) {
    const fs::path path = (folder / one).lexically_normal();
    if (key.or_name && !is_there(path)) return one;
    return (path.has_filename() ? path : path.parent_path()).string();
  });
}

void read_table(Config& config, const fs::path& file, const toml::table& table) {
  const std::string origin = escaped(file.string());
  for (const auto& [section, content] : table) {
    const std::string name(section.str());
    if (name == "layout" && content.is_string()) {
      set_layout(config, origin, origin, **content.as_string());
      continue;
    }
    if (!content.is_table()) {
      set(config, origin, known(origin, name), content);
      config.origins[name] = origin;
      continue;
    }
    for (const auto& [entry, value] : *content.as_table()) {
      const Key& key = known(origin, name + "." + std::string(entry.str()));
      set(config, origin, key, value);
      if (key.path) start_from(file.parent_path(), config, key);
      config.origins[key.name] = origin;
    }
  }
}

/// What the file has; says what it is where it is none that every rank can read.
std::string contents(const fs::path& file) {
  const std::string name = in_quotes(file.string());
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  RIESZ_CHECK(status.type() != fs::file_type::not_found, "there is no configuration file ", name,
              "; name one that exists, such as examples/adder.toml");
  RIESZ_CHECK(fs::status_known(status), "cannot read the configuration file ", name, ": ", error.message(),
              "; name one that can be read");
  RIESZ_CHECK(!fs::is_directory(status), "the configuration ", name, " is a folder; name a file in it");
  RIESZ_CHECK(fs::is_regular_file(status), "the configuration ", name,
              " is a pipe or a device, which only one rank could read; write it into a file, and name that");
  return bytes_of_file(file);
}

/// The parser's tables are built and taken down by recursion, and it bounds brackets alone: a name of nothing
/// but dots would take all of the stack. Dots in texts and comments do not count.
void check_dots(const std::string& origin, std::string_view text) {
  constexpr int kMost = 100;
  int dots = 0, line = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      const std::string quotes(text.substr(at).starts_with(std::string(3, c)) ? 3 : 1, c);
      std::size_t end = at + quotes.size();
      while (end < text.size() && !text.substr(end).starts_with(quotes)) {
        if (quotes.size() == 1 && text[end] == '\n') break;  // the parser says what is wrong
        end += c == '"' && text[end] == '\\' ? 2 : 1;
      }
      end = std::min(end, text.size());
      line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                          text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      at = end < text.size() && text[end] == '\n' ? end - 1 : end + quotes.size() - 1;
      continue;
    }
    if (c == '#') at = std::min(text.find('\n', at), text.size()) - 1;
    if (c == '\n') ++line, dots = 0;
    dots += c == '.' ? 1 : 0;
    RIESZ_CHECK(dots <= kMost, origin, ", line ", line, ": a name of more than ", kMost,
                " parts; `riesz train --help` lists all keys");
  }
}

toml::table parse(const fs::path& file) {
  const std::string text = contents(file);
  check_dots(escaped(file.string()), text);
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw_error(concat(escaped(file.string()), ", line ", error.source().begin.line, ": ",
                       in_short(error.description())));
  }
}

/// The TOML of a word's value; a bare word of a text key is that text.
toml::table parse_word(const std::string& value, const Key& key) {
  const bool text = std::holds_alternative<std::string& (*)(Config&)>(key.field);
  const bool list = std::holds_alternative<std::vector<std::int64_t>& (*)(Config&)>(key.field);
  const bool bare = list && !value.starts_with('[');  // 2,2 is [2, 2]
  try {
    check_dots("", value);
    toml::table parsed = toml::parse(bare ? "value = [" + value + "]" : "value = " + value);
    if (parsed.size() == 1 && (!text || parsed["value"].is_string())) return parsed;
  } catch (const toml::parse_error&) {
    // not TOML: a text
  } catch (const Error&) {
    // the same
  }
  return toml::table{{"value", value}};
}

/// The key of a further setting inside a value, nullptr if there is none: ` key=` with any white space
/// before.
const Key* further_setting(const std::string& value) {
  for (std::size_t equals = value.find('='); equals != std::string::npos;
       equals = value.find('=', equals + 1)) {
    std::size_t begin = equals;
    while (begin > 0 && std::isspace(static_cast<unsigned char>(value[begin - 1])) == 0) --begin;
    const Key* key = begin > 0 ? find_key(value.substr(begin, equals - begin)) : nullptr;
    if (key != nullptr) return key;
  }
  return nullptr;
}

void read_word(Config& config, const std::string& word) {
  const std::size_t equals = word.find('=');
  RIESZ_CHECK(equals != std::string::npos || !word.ends_with(".toml"), in_quotes(word), " on ", kCommandLine,
              " is no setting; a configuration comes before all settings, and there is one");
  RIESZ_CHECK(equals != std::string::npos && equals > 0, in_quotes(word), " on ", kCommandLine,
              " is no setting; write key=value, such as train.steps=100");
  const std::string origin = in_quotes(word) + " on " + kCommandLine;
  const std::string value = word.substr(equals + 1);
  if (word.substr(0, equals) == "layout") return set_layout(config, origin, kCommandLine, value);
  const Key& key = known(origin, word.substr(0, equals));
  if (value.empty()) return set_back(config, key);
  const Key* further = further_setting(value);
  RIESZ_CHECK(further == nullptr, origin, " holds two settings, ", key.name, " and ", further->name,
              "; write them as two words");
  set(config, origin, key, *parse_word(value, key).get("value"));
  config.origins[key.name] = kCommandLine;
}

/// What may be set in place of removing a key that only these read; "" where one of many values would do. The
/// folder of model.from says what its model is, so model.kind cannot.
std::string what_reads(const Readers& readers, const Config& config) {
  const std::string& kind = config.model.kind;
  if (config.model.from.empty() || readers.key != "model.kind")
    return readers.values.size() == 1 ? concat(", or set ", readers.key, "=", readers.values.front()) : "";
  const char* upcycled = kind == "llama" ? "mixtral" : kind == "gpt2" ? "gpt2_moe" : "";
  const bool helps = std::count(readers.values.begin(), readers.values.end(), upcycled) > 0;
  return helps ? ", or set model.upcycle=true, which gives the model of model.from experts" : "";
}

/// What is not said, and is not the same of all kinds.
void add_defaults(Config& config) {
  if (!config.model.from.empty()) return;
  const std::string& kind = config.model.kind;
  const bool like_llama = kind == "llama" || kind == "mixtral" || kind == "qwen2_moe";
  if (config.origins.contains("model.activation")) return;
  if (like_llama) config.model.activation = "silu";
  if (kind == "resnet") config.model.activation = "relu";
}
}  // namespace

void check_is_read(const Key& key, const Config& config) {
  for (const Readers& readers : key.readers) {
    if (is_read(readers, config)) continue;
    const std::string& origin = config.origins.at(key.name);
    const bool by_word = origin == kCommandLine;
    const std::string without = concat(" (the word ", key.name, "= on ", kCommandLine, " does)");
    throw_error(concat(key.name, " is set ", by_word ? "on " : "in ", origin, ", which is read only with ",
                       readers_text(readers), ", but ", readers.key, " is ",
                       value_text(*find_key(readers.key), config), "; remove it", by_word ? "" : without,
                       what_reads(readers, config)));
  }
}

Config with_words(Config config, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    check_keeps(words, i, config);
    read_word(config, words[i]);
  }
  return config;
}

Config load_config(const fs::path& file, const std::vector<std::string>& words) {
  Config config;
  read_table(config, file, parse(file));
  config = with_words(std::move(config), words);
  add_defaults(config);
  for (const auto& [name, origin] : config.origins) {
    // A model that is there already says itself what it is.
    const bool later = !config.model.from.empty() && name.starts_with("model.");
    if (!later) check_is_read(*find_key(name), config);
  }
  if (config.output.folder.empty()) config.output.folder = (fs::path("runs") / file.stem()).string();
  return config;
}

}  // namespace riesz
