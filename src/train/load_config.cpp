// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/load_config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <sstream>
#include <tuple>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/train/image_task.h"
#include "riesz/train/layout.h"
#include "riesz/train/placement.h"
#include "riesz/train/schema.h"

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

const Key& known(const std::string& origin, const std::string& name) {
  const Key* key = find_key(name);
  if (key != nullptr) return *key;
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

/// The settings that one word of extents stands for: "dp2.tp4" is layout.dp=2 and layout.tp=4.
std::vector<std::pair<std::string, std::int64_t>> extents_of(const std::string& origin,
                                                             const std::string& text) {
  const std::vector<std::string> axes{"pp", "dp", "sp", "tp"};
  const char* const rule = "; it must be axes (pp, dp, sp, tp) with their extents, such as dp2.tp4";
  std::vector<std::pair<std::string, std::int64_t>> all;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '.');) {
    const std::size_t digits = std::min(part.find_first_of("0123456789"), part.size());
    const std::string axis = part.substr(0, digits);
    std::int64_t extent = 0;
    const char* const last = part.data() + part.size();
    const auto [end, error] = std::from_chars(part.data() + digits, last, extent);
    const bool good = error == std::errc() && end == last && extent >= 1 &&
                      std::find(axes.begin(), axes.end(), axis) != axes.end();
    RIESZ_CHECK(good, origin, ": layout is ", in_quotes(text), ", where ", in_quotes(part), " is no extent",
                rule);
    for (const auto& [name, n] : all)
      RIESZ_CHECK(name != "layout." + axis, origin, ": layout is ", in_quotes(text), ", which names ", axis,
                  " twice");
    all.emplace_back("layout." + axis, extent);
  }
  RIESZ_CHECK(!all.empty() && !text.ends_with('.'), origin, ": layout is ", in_quotes(text), rule);
  return all;
}

/// `set_from`: where the keys are said to be set.
void set_extents(Config& config, const std::string& origin, const std::string& set_from,
                 const std::string& text) {
  for (const auto& [name, extent] : extents_of(origin, text)) {
    std::get<std::int64_t& (*)(Config&)>(find_key(name)->field)(config) = extent;
    config.origins[name] = set_from;
  }
}

void start_from(const fs::path& folder, Config& config, const Key& key) {
  std::string& text = std::get<std::string& (*)(Config&)>(key.field)(config);
  text = with_each_path(key, text, [&](const std::string& one) {
    const fs::path path = (folder / one).lexically_normal();
    if (key.or_name && !fs::exists(path)) return one;
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
  try {
    check_dots("", value);
    toml::table parsed = toml::parse("value = " + value);
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

/// What is not said, and is not the same of all kinds.
void add_defaults(Config& config) {
  if (!config.model.from.empty()) return;
  if (config.model.kind == "llama" && !config.origins.contains("model.activation"))
    config.model.activation = "silu";
}

/// Of numbers in fp32, such as "768 EiB".
std::string bytes_text(double numbers) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  double bytes = 4 * numbers;
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  std::ostringstream text;
  text.precision(4);
  text << bytes << " " << kUnits[unit];
  return text.str();
}

/// No machine has a weight of that size, and larger numbers could not be counted. In floating point, which
/// does not overflow.
void check_weight(const Config& config, const char* what, const std::vector<std::string>& keys,
                  double numbers) {
  constexpr double kMost = 0x1p44;
  if (numbers <= kMost) return;
  std::string sizes;
  for (const std::string& key : keys)
    sizes += (sizes.empty() ? "" : key == keys.back() ? " or " : ", ") + value_and_origin(config, key);
  throw_error(concat(what, " takes ", bytes_text(numbers), ": lower ", sizes));
}

void check_sizes(const Config& config) {
  const auto& model = config.model;
  const auto width = static_cast<double>(model.width);
  const double hidden = model.hidden > 0 ? static_cast<double>(model.hidden) : 4 * width;
  check_weight(config, "a weight of the MLP", {"model.width", "model.hidden"}, width * hidden);
  check_weight(config, "a weight of attention", {"model.width"}, 3 * width * width);
  if (model.kind == "vit") {
    const double side = static_cast<double>(model.image) / static_cast<double>(model.patch);
    check_weight(config, "the position table", {"model.image", "model.width"}, (side * side + 1) * width);
    check_weight(config, "the weight of the patches", {"model.patch", "model.width"},
                 static_cast<double>(model.patch) * static_cast<double>(model.patch) * 3 * width);
  } else if (model.kind == "gpt2") {
    const bool wide = width > static_cast<double>(model.context);
    check_weight(config, "the position table", {wide ? "model.width" : "model.context"},
                 static_cast<double>(model.context) * width);
  }
}

void check_model(const Config& config) {
  const auto& model = config.model;
  RIESZ_CHECK(!model.new_head || !model.from.empty(), value_and_origin(config, "model.new_head"),
              " takes the place of the classifier of model.from, and model.from names no model; remove it");
  if (!model.from.empty()) return;  // its config.json has been read
  check_sizes(config);
  RIESZ_CHECK(model.width % model.heads == 0, value_and_origin(config, "model.width"), " is no multiple of ",
              value_and_origin(config, "model.heads"), ": each head has an equal part of the width");
  if (model.kind == "gpt2" || model.kind == "vit") return;  // their positions have tables
  const std::int64_t of_head = model.width / model.heads;
  const std::int64_t keys = model.kind == "llama" && model.key_value_heads > 0 ? model.key_value_heads : 1;
  RIESZ_CHECK(model.heads % keys == 0, value_and_origin(config, "model.heads"), " is no multiple of ",
              value_and_origin(config, "model.key_value_heads"), ", which as many heads share each");
  const bool some = model.kind == "gptj" && model.rotary_dims > 0;
  RIESZ_CHECK(some || of_head % 2 == 0, value_and_origin(config, "model.width"), " gives each of ",
              value_and_origin(config, "model.heads"), " a width of ", of_head,
              ", whose dims turn in pairs: it must be even");
  RIESZ_CHECK(!some || (model.rotary_dims % 2 == 0 && model.rotary_dims <= of_head),
              value_and_origin(config, "model.rotary_dims"),
              ": they turn in pairs, so an even number of at most ", of_head, ", a head's width");
}

}  // namespace

void check_is_read(const Key& key, const Config& config) {
  for (const Readers& readers : key.readers) {
    if (is_read(readers, config)) continue;
    const std::string& origin = config.origins.at(key.name);
    throw_error(concat(key.name, " is set ", origin == kCommandLine ? "on " : "in ", origin,
                       ", which is read only with ", readers_text(readers), ", but ", readers.key, " is ",
                       value_text(*find_key(readers.key), config), "; remove it, or set ", readers.key, "=",
                       readers.values.front()));
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

namespace {

void check_images(const Config& config) {
  const auto& [model, data] = std::tie(config.model, config.data);
  const bool images = data.task == "images";
  RIESZ_CHECK(images == (model.kind == "vit"), value_and_origin(config, "data.task"), " does not go with ",
              value_and_origin(config, "model.kind"),
              images ? ": set model.kind to \"vit\", which sees images"
                     : ", which sees images: set data.task to \"images\"");
  if (!images) return;
  RIESZ_CHECK(!data.images.empty(), "data.images names no folder to learn from; add data.images=FOLDER");
  RIESZ_CHECK(model.image % model.patch == 0, value_and_origin(config, "model.image"), " is no multiple of ",
              value_and_origin(config, "model.patch"), ": patches tile an image");
  RIESZ_CHECK(model.channels != 2, value_and_origin(config, "model.channels"), ": images have 1 or 3");
  RIESZ_CHECK(data.resize == 0 || data.resize >= model.image, value_and_origin(config, "data.resize"),
              " is less than ", value_and_origin(config, "model.image"), ", which is cut out of it");
  RIESZ_CHECK(data.shift < model.image, value_and_origin(config, "data.shift"), " moves an image out of its ",
              value_and_origin(config, "model.image"));
  numbers_of_channels(config, "data.mean", data.mean);
  for (const double deviation : numbers_of_channels(config, "data.deviation", data.deviation))
    RIESZ_CHECK(deviation > 0, value_and_origin(config, "data.deviation"), "; it must be above 0");
}

void check_workers(const Config& config, int ranks) {
  const auto& layout = config.layout;
  const bool few = layout.pp <= ranks && layout.dp <= ranks && layout.sp <= ranks && layout.tp <= ranks;
  RIESZ_CHECK(few && layout.pp * layout.dp * layout.sp * layout.tp == ranks, product_of(layout),
              " workers, but the job has ", ranks, ranks == 1 ? " rank" : " ranks",
              "; start as many with mpirun -n, or set them so that their product is ", ranks, "; ",
              possible_layouts(ranks, layout));
  layout_axes(layout);  // says what does not fit
}

void check_schedule(const Config& config) {
  const auto& schedule = config.schedule;
  const bool warmed = schedule.kind == "cosine" || schedule.kind == "linear" || schedule.kind == "constant";
  RIESZ_CHECK(!warmed || schedule.warm_up < config.train.steps, value_and_origin(config, "schedule.warm_up"),
              " must be less than ", value_and_origin(config, "train.steps"),
              "; set schedule.warm_up below it, or to 0");
  RIESZ_CHECK(schedule.kind == "constant" || schedule.kind == "range_test" ||
                  schedule.floor <= config.optimizer.learning_rate,
              value_and_origin(config, "schedule.floor"), " is above ",
              value_and_origin(config, "optimizer.learning_rate"), ", the highest rate");
  RIESZ_CHECK(
      schedule.kind != "range_test" || schedule.floor > 0,
      "schedule.kind = \"range_test\" starts from schedule.floor, which is 0; set the least rate to try");
}

void check_optimizer(const Config& config) {
  const auto& optimizer = config.optimizer;
  const auto zero = config.layout.zero;
  RIESZ_CHECK(optimizer.kind != "one_bit_adam" || zero <= 1, "layout.zero = ", zero,
              ": optimizer.kind = \"one_bit_adam\" exchanges whole momenta; set layout.zero to 0 or 1");
  RIESZ_CHECK(
      optimizer.kind != "one_bit_adam" || optimizer.clip == 0, "optimizer.clip = ", optimizer.clip,
      ": optimizer.kind = \"one_bit_adam\" does not sum gradients, so it has no norm of them to clip; "
      "set optimizer.clip to 0");
}

void check_data(const Config& config) {
  const auto& data = config.data;
  const auto& train = config.train;
  const std::int64_t context = config.model.context;
  RIESZ_CHECK(train.micro_batches <= train.batch, value_and_origin(config, "train.micro_batches"),
              " is more than there are sequences: ", value_and_origin(config, "train.batch"),
              "; a micro-batch has at least one");
  RIESZ_CHECK(data.task != "adder" || context >= 3 * data.digits, value_and_origin(config, "model.context"),
              " is too short for sums with ", value_and_origin(config, "data.digits"), ": ", 3 * data.digits,
              " tokens");
  RIESZ_CHECK(data.task == "adder" || data.length <= context, value_and_origin(config, "data.length"),
              " is more than ", value_and_origin(config, "model.context"),
              ", all that the model sees at once");
  RIESZ_CHECK(data.task != "text" || !data.text.empty(),
              "data.text names no file to learn from; add data.text=FILE, or a folder");
  check_images(config);
  RIESZ_CHECK(
      data.task != "tokens" || !data.tokens.empty(),
      "data.tokens names no folder to learn from; add data.tokens=FOLDER, which riesz tokenize makes");
}

}  // namespace

void check_config(const Config& config, int ranks) {
  check_workers(config, ranks);
  check_pipeline(config);
  check_model(config);
  check_schedule(config);
  check_optimizer(config);
  check_data(config);
}

}  // namespace riesz
