// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/load_config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <sstream>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
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

/// The settings that a layout in one word stands for: "dp2.tp4" is layout.dp=2 and layout.tp=4. Its grammar:
///
///     layout = part { "." part }     part = axis extent     extent = count { "x" count }
///     axis = "pp" | "dp" | "sp" | "tp" | "ep" | "space"
///
/// Each axis is there at most once, in any order, with a count of 1 or more; space with two of them.
std::vector<std::pair<std::string, std::vector<std::int64_t>>> extents_of(const std::string& origin,
                                                                          const std::string& text) {
  const std::vector<std::string> axes{"pp", "dp", "ep", "space", "sp", "tp"};
  const char* const rule =
      "; it must be axes (pp, dp, ep, space, sp, tp) with their extents, such as dp2.tp4 or dp2.space2x2";
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> all;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '.');) {
    const std::size_t digits = std::min(part.find_first_of("0123456789"), part.size());
    const std::string axis = part.substr(0, digits);
    std::vector<std::int64_t> counts;
    const char* const last = part.data() + part.size();
    const char* at = part.data() + digits;
    bool good = std::find(axes.begin(), axes.end(), axis) != axes.end();
    for (bool more = good; more; at += more ? 1 : 0) {
      const auto [end, error] = std::from_chars(at, last, counts.emplace_back());
      good = good && error == std::errc() && counts.back() >= 1;
      at = end;
      more = good && at != last && *at == 'x';
    }
    good = good && at == last && counts.size() == (axis == "space" ? 2U : 1U);
    RIESZ_CHECK(good, origin, ": layout is ", in_quotes(text), ", where ", in_quotes(part), " is no extent",
                rule);
    for (const auto& [name, n] : all)
      RIESZ_CHECK(name != "layout." + axis, origin, ": layout is ", in_quotes(text), ", which names ", axis,
                  " twice");
    all.emplace_back("layout." + axis, counts);
  }
  RIESZ_CHECK(!all.empty() && !text.ends_with('.'), origin, ": layout is ", in_quotes(text), rule);
  return all;
}

/// `set_from`: where the keys are said to be set.
void set_extents(Config& config, const std::string& origin, const std::string& set_from,
                 const std::string& text) {
  for (const auto& [name, counts] : extents_of(origin, text)) {
    const Field& field = find_key(name)->field;
    if (const auto* const list = std::get_if<std::vector<std::int64_t>& (*)(Config&)>(&field))
      (*list)(config) = counts;
    else
      std::get<std::int64_t& (*)(Config&)>(field)(config) = counts.front();
    config.origins[name] = set_from;
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
      set_extents(config, origin, origin, **content.as_string());
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
  if (word.substr(0, equals) == "layout") return set_extents(config, origin, kCommandLine, value);
  const Key& key = known(origin, word.substr(0, equals));
  const Key* further = further_setting(value);
  RIESZ_CHECK(further == nullptr, origin, " holds two settings, ", key.name, " and ", further->name,
              "; write them as two words");
  set(config, origin, key, *parse_word(value, key).get("value"));
  config.origins[key.name] = kCommandLine;
}

/// What may be set in place of removing a key that only these read. The folder of model.from says what its
/// model is, so model.kind cannot.
std::string what_reads(const Readers& readers, const Config& config) {
  const std::string& kind = config.model.kind;
  if (config.model.from.empty() || readers.key != "model.kind")
    return concat(", or set ", readers.key, "=", readers.values.front());
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
    throw_error(concat(key.name, " is set ", origin == kCommandLine ? "on " : "in ", origin,
                       ", which is read only with ", readers_text(readers), ", but ", readers.key, " is ",
                       value_text(*find_key(readers.key), config), "; remove it",
                       what_reads(readers, config)));
  }
}

Config with_words(Config config, const std::vector<std::string>& words) {
  for (const std::string& word : words) read_word(config, word);
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
