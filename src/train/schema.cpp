// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iomanip>
#include <limits>
#include <numeric>
#include <sstream>
#include <type_traits>
#include <utility>

namespace riesz {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The address of a value inside a Config.
#define RIESZ_FIELD(type, member) (+[](Config& config) -> type& { return config.member; })
#define RIESZ_INTEGER(member, least, most, ...) \
  { #member, RIESZ_FIELD(std::int64_t, member), __VA_ARGS__, least, most, {}, "", false }
#define RIESZ_NUMBER(member, least, most, ...) \
  { #member, RIESZ_FIELD(double, member), __VA_ARGS__, least, most, {}, "", false }
#define RIESZ_TEXT(member, ...) \
  { #member, RIESZ_FIELD(std::string, member), __VA_ARGS__, 0, 0, {}, "", false }

Key choice(Key key, std::vector<std::string> choices) {
  key.choices = std::move(choices);
  return key;
}

Key only(const char* task, Key key) {
  key.task = task;
  return key;
}

Key path(Key key) {
  key.path = true;
  return key;
}

std::vector<Key> layout_keys() {
  return {
      RIESZ_INTEGER(layout.dp, 1, kNoLimit, "data parallel: workers that share each batch"),
      RIESZ_INTEGER(layout.tp, 1, kNoLimit,
                    "tensor parallel: workers that share each layer; dp x sp x tp is the job's size"),
      choice(
          RIESZ_TEXT(
              layout.tensor,
              "how they share it: widths; widths and between them the sequence; or matrices in 2, 2.5 or 3 "
              "dims of a grid"),
          {"1d", "sp", "2d", "2.5d", "3d"}),
      RIESZ_INTEGER(layout.sp, 1, kNoLimit, "sequence parallel: workers that share each sequence"),
      choice(
          RIESZ_TEXT(
              layout.sequence,
              "how they attend to it: keys and values go round a ring, or each has all of it for some heads"),
          {"none", "ring", "ulysses"}),
  };
}

std::vector<Key> model_keys() {
  return {
      RIESZ_INTEGER(model.layers, 1, kNoLimit, "transformer blocks"),
      RIESZ_INTEGER(model.heads, 1, kNoLimit, "attention heads of a block"),
      RIESZ_INTEGER(model.width, 1, kNoLimit, "width of the residual stream, a multiple of the heads"),
      RIESZ_INTEGER(model.context, 1, kNoLimit, "tokens that the model sees at once"),
      RIESZ_NUMBER(model.dropout, 0, 0.99, "probability that an activation is dropped in training"),
  };
}

std::vector<Key> data_keys() {
  return {
      choice(RIESZ_TEXT(data.task, "what is learnt: sums of two numbers, or the next byte"),
             {"adder", "text"}),
      only("adder", RIESZ_INTEGER(data.digits, 1, 3, "digits of each of the two numbers")),
      only("text", path(RIESZ_TEXT(data.text, "a file of any bytes, or a folder, whose sources are read"))),
      only("text", RIESZ_INTEGER(data.sample, 0, kNoLimit, "bytes that the trained model writes at the end")),
      only("text",
           RIESZ_NUMBER(data.temperature, 0, 10, "of that writing; 0 takes the likeliest byte each time")),
      RIESZ_NUMBER(data.held_out, 0.0001, 0.9, "part of the data that is kept out of training"),
  };
}

std::vector<Key> train_keys() {
  return {
      RIESZ_INTEGER(train.steps, 1, kNoLimit, "updates of the weights"),
      RIESZ_INTEGER(train.batch, 1, kNoLimit, "sequences of a step, over all workers"),
      RIESZ_INTEGER(train.seed, 0, kNoLimit,
                    "decides initial weights, dropout, the order of data and the sample"),
      RIESZ_NUMBER(train.learning_rate, 0, 10, "the highest learning rate of AdamW"),
      RIESZ_NUMBER(train.floor, 0, 10, "the learning rate at the end, after half a cosine"),
      RIESZ_INTEGER(train.warm_up, 0, kNoLimit, "steps over which the learning rate rises from 0"),
      RIESZ_NUMBER(train.beta1, 0, 0.999999, "decay of AdamW's first moment"),
      RIESZ_NUMBER(train.beta2, 0, 0.999999, "decay of AdamW's second moment"),
      RIESZ_NUMBER(train.weight_decay, 0, 10, "of matrices and tables, not of biases and norms"),
      RIESZ_NUMBER(train.clip, 0, kNoLimit, "the greatest norm of all gradients together; 0 does not clip"),
      RIESZ_INTEGER(train.eval_every, 1, kNoLimit, "steps between measurements of the held-out loss"),
      RIESZ_INTEGER(train.eval_size, 1, kNoLimit,
                    "held-out sequences that a measurement reads, or all if they are fewer"),
  };
}

std::vector<Key> output_keys() {
  return {
      RIESZ_TEXT(output.folder, "where results go; empty: runs/ and the configuration's name"),
      choice(RIESZ_TEXT(output.progress, "one line that rewrites itself, or lines now and then; auto looks"),
             {"auto", "terminal", "log"}),
  };
}

#undef RIESZ_FIELD
#undef RIESZ_INTEGER
#undef RIESZ_NUMBER
#undef RIESZ_TEXT

/// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

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

}  // namespace

const std::vector<Key>& schema() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> all;
    for (const auto& section : {layout_keys(), model_keys(), data_keys(), train_keys(), output_keys()}) {
      all.insert(all.end(), section.begin(), section.end());
    }
    return all;
  }();
  return keys;
}

const Key* find_key(std::string_view name) {
  const auto found =
      std::find_if(schema().begin(), schema().end(), [&](const Key& key) { return key.name == name; });
  return found == schema().end() ? nullptr : &*found;
}

std::string nearest_key(std::string_view name) {
  const auto far = [&](const Key& key) {
    return std::min(distance(name, key.name), 1 + distance(last_part(name), last_part(key.name)));
  };
  return std::min_element(schema().begin(), schema().end(),
                          [&](const Key& a, const Key& b) { return far(a) < far(b); })
      ->name;
}

std::string rule(const Key& key) {
  if (std::holds_alternative<std::string& (*)(Config&)>(key.field)) {
    if (key.choices.empty()) return key.path ? "a path" : "a text";
    std::string text = "one of";
    for (const std::string& choice : key.choices) text += (text == "one of" ? " \"" : ", \"") + choice + "\"";
    return text;
  }
  const bool integer = std::holds_alternative<std::int64_t& (*)(Config&)>(key.field);
  const std::string type = integer ? "an integer" : "a number";
  if (key.most == kNoLimit) return type + ", " + number_text(key.least) + " or more";
  return type + " from " + number_text(key.least) + " to " + number_text(key.most);
}

std::string value_text(const Key& key, Config config) {
  std::ostringstream out;
  std::visit(
      [&](auto field) {
        const auto& value = field(config);
        if constexpr (std::is_same_v<decltype(field), std::string& (*)(Config&)>) {
          out << std::quoted(value);
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
    if (!key.task.empty() && key.task != config.data.task) continue;
    const std::string its_section = key.name.substr(0, key.name.find('.'));
    if (its_section != section) text += (section.empty() ? "[" : "\n[") + its_section + "]\n";
    section = its_section;
    text += std::string(last_part(key.name)) + " = " + value_text(key, config) + "\n";
  }
  return text;
}

std::string schema_text() {
  std::ostringstream out;
  for (const Key& key : schema()) {
    out << "  " << std::left << std::setw(22) << key.name << std::setw(10) << value_text(key) << key.meaning
        << "\n"
        << std::string(34, ' ') << rule(key) << (key.task.empty() ? "" : "; only of the task " + key.task)
        << "\n";
  }
  return out.str();
}

std::string schema_markdown() {
  std::ostringstream out;
  out << "| key | default | meaning |\n|---|---|---|\n";
  for (const Key& key : schema()) {
    out << "| `" << key.name << "` | `" << value_text(key) << "` | " << key.meaning << " (" << rule(key)
        << (key.task.empty() ? "" : "; only of the task " + key.task) << ") |\n";
  }
  return out.str();
}

}  // namespace riesz
