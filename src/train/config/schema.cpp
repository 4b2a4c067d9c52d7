// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iomanip>
#include <sstream>
#include <type_traits>
#include <utility>

#include "riesz/io/escaped.h"
#include "riesz/train/config/key_makers.h"
#include "riesz/train/config/keys.h"
#include "riesz/train/config/nearest.h"

namespace riesz {
namespace {

using detail::kNoLimit;

using IntegersField = std::vector<std::int64_t>& (*)(Config&);

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::string number_text(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

std::string toml_number(std::int64_t value) { return std::to_string(value); }

/// All digits, and a point or an exponent, so that it stays a floating-point number.
std::string toml_number(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  const std::string text(buffer.data(), end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

/// What other programs call a key, by its last part.
constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
    {"batch_size", "train.batch"},
    {"block_size", "model.context"},
    {"dtype", "precision"},
    {"epochs", "train.steps"},
    {"gradient_accumulation_steps", "train.micro_batches"},
    {"hidden_size", "model.width"},
    {"lr", "optimizer.learning_rate"},
    {"max_iters", "train.steps"},
    {"max_steps", "train.steps"},
    {"n_embd", "model.width"},
    {"n_head", "model.heads"},
    {"n_layer", "model.layers"},
    {"num_attention_heads", "model.heads"},
    {"num_hidden_layers", "model.layers"},
    {"out_dir", "output.folder"},
    {"warmup_iters", "schedule.warm_up"},
    {"warmup_steps", "schedule.warm_up"}};

}  // namespace

const std::vector<Key>& schema() {
  static const std::vector<Key> keys = all_keys();
  return keys;
}

const Key* find_key(std::string_view name) {
  const auto found =
      std::find_if(schema().begin(), schema().end(), [&](const Key& key) { return key.name == name; });
  return found == schema().end() ? nullptr : &*found;
}

std::string with_each_path(const Key& key, const std::string& value,
                           const std::function<std::string(const std::string& path)>& f) {
  std::string all;
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t end = key.several ? std::min(value.find(',', at), value.size()) : value.size();
    all += (at > 0 ? "," : "") + f(value.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

std::string nearest_key(std::string_view name) {
  for (const auto& [elsewhere, key] : kElsewhere) {
    if (last_part(name) == elsewhere) return std::string(key);
  }
  if (distance_of(name, "layout") == 1) return "layout";
  std::string nearest;
  std::size_t least = name.size() + 2;
  for (const Key& key : schema()) {
    const std::size_t whole = distance_of(name, key.name);
    const std::size_t last = distance_of(last_part(name), last_part(key.name));
    const std::size_t far = std::min(whole, 1 + last);
    const bool alike = whole <= 1 || last <= (last_part(name).size() + 1) / 3;
    if (alike && far < least) {
      nearest = key.name;
      least = far;
    }
  }
  return nearest;
}

std::string value_and_origin(const Config& config, std::string_view name) {
  const Key& key = *find_key(name);
  const auto origin = config.origins.find(key.name);
  const std::string where = origin == config.origins.end()   ? "the default"
                            : origin->second == kCommandLine ? "on " + origin->second
                                                             : "in " + origin->second;
  Config copy = config;
  const auto* const text = std::get_if<std::string& (*)(Config&)>(&key.field);
  return key.name + " = " + (text ? in_quotes((*text)(copy)) : value_text(key, config)) + " (" + where + ")";
}

bool is_read(const Readers& readers, Config config) {
  const Field& choice = find_key(readers.key)->field;
  if (const auto* number = std::get_if<std::int64_t& (*)(Config&)>(&choice))
    return (*number)(config) >= std::stoll(readers.values.front());
  if (const auto* on = std::get_if<bool& (*)(Config&)>(&choice))
    return (*on)(config) == (readers.values.front() == "true");
  const std::string& chosen = std::get<std::string& (*)(Config&)>(choice)(config);
  const bool is_one = std::find(readers.values.begin(), readers.values.end(), chosen) != readers.values.end();
  return is_one || (!readers.or_key.empty() && is_read({readers.or_key, readers.values}, config));
}

bool is_read(const Key& key, const Config& config) {
  return std::all_of(key.readers.begin(), key.readers.end(),
                     [&](const Readers& readers) { return is_read(readers, config); });
}

std::string readers_text(const Readers& readers) {
  if (std::holds_alternative<std::int64_t& (*)(Config&)>(find_key(readers.key)->field))
    return readers.key + " = " + readers.values.front() + " or more";
  if (std::holds_alternative<bool& (*)(Config&)>(find_key(readers.key)->field))
    return readers.key + " = " + readers.values.front();
  std::string text;
  for (const std::string& value : readers.values)
    text += (text.empty() ? readers.key + " = \"" : " or \"") + value + "\"";
  if (!readers.or_key.empty()) text += " or " + readers_text(Readers{readers.or_key, readers.values});
  return text;
}

std::string readers_text(const Key& key) {
  std::string text;
  for (const Readers& readers : key.readers) text += (text.empty() ? "" : " and ") + readers_text(readers);
  return text;
}

std::string rule(const Key& key) {
  if (std::holds_alternative<std::string& (*)(Config&)>(key.field)) {
    if (key.choices.empty()) return key.or_name ? "a folder, or a name" : key.path ? "a path" : "a text";
    std::string text = "one of";
    for (const std::string& choice : key.choices) text += (text == "one of" ? " \"" : ", \"") + choice + "\"";
    return text;
  }
  if (std::holds_alternative<bool& (*)(Config&)>(key.field)) return "true or false";
  if (std::holds_alternative<IntegersField>(key.field))
    return "a list of integers, each " + number_text(key.least) + " or more";
  const bool integer = std::holds_alternative<std::int64_t& (*)(Config&)>(key.field);
  const std::string type = integer ? "an integer" : "a number";
  if (key.most == detail::kNoLimit) return type + ", " + number_text(key.least) + " or more";
  return type + " from " + number_text(key.least) + " to " + number_text(key.most);
}

std::string value_text(const Key& key, Config config) {
  std::ostringstream out;
  std::visit(
      [&](auto field) {
        const auto& value = field(config);
        if constexpr (std::is_same_v<decltype(field), std::string& (*)(Config&)>) {
          out << in_whole_quotes(value);
        } else if constexpr (std::is_same_v<decltype(field), bool& (*)(Config&)>) {
          out << (value ? "true" : "false");
        } else if constexpr (std::is_same_v<decltype(field), IntegersField>) {
          out << '[';
          for (std::size_t i = 0; i < value.size(); ++i) out << (i > 0 ? ", " : "") << value[i];
          out << ']';
        } else {
          out << toml_number(value);
        }
      },
      key.field);
  return out.str();
}

std::string to_toml(const Config& config) {
  std::string text, section;
  for (const Key& key : schema()) {
    if (!is_read(key, config)) continue;
    // The folder of model.from says it of several places, which one number may not.
    const bool several = key.name == "model.dropout" && !config.model.from.empty();
    if (several && !config.origins.contains(key.name)) continue;
    const std::size_t dot = key.name.find('.');
    const std::string its_section = dot == std::string::npos ? "" : key.name.substr(0, dot);
    if (its_section != section) text += (text.empty() ? "[" : "\n[") + its_section + "]\n";
    section = its_section;
    text += std::string(last_part(key.name)) + " = " + value_text(key, config) + "\n";
  }
  return text;
}

std::string schema_text() {
  std::ostringstream out;
  for (const Key& key : schema()) {
    out << "  " << std::left << std::setw(27) << key.name << std::setw(15) << value_text(key) << key.meaning
        << "\n"
        << std::string(44, ' ') << rule(key)
        << (key.readers.empty() ? "" : "; only with " + readers_text(key)) << "\n";
  }
  return out.str();
}

std::string schema_markdown() {
  std::ostringstream out;
  out << "| key | default | meaning |\n|---|---|---|\n";
  for (const Key& key : schema()) {
    out << "| `" << key.name << "` | `" << value_text(key) << "` | " << key.meaning << " (" << rule(key)
        << (key.readers.empty() ? "" : "; only with " + readers_text(key)) << ") |\n";
  }
  return out.str();
}

}  // namespace riesz
