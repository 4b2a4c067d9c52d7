// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/training_state.h"

#include <cstdio>
#include <set>
#include <variant>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/json_field.h"
#include "riesz/train/config/schema.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kState = "state.json";
constexpr std::int64_t kFormat = 1;

/// Where a training runs and what it writes, which its state does not depend on; and paths.
bool is_place(const Key& key) {
  const auto of = [&](const char* section) { return key.name.starts_with(section); };
  return key.name == "device" || key.name == "tf32" || of("layout.") || of("pipeline.") || of("output.") ||
         of("checkpoint.") || of("offload.") || key.path;
}

Json json_of(Config config) {
  Json object = Json::object();
  for (const Key& key : schema()) {
    if (is_place(key) || !is_read(key, config)) continue;
    std::visit([&](auto field) { object[key.name] = field(config); }, key.field);
  }
  return object;
}

std::string hexadecimal(std::uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

/// The default of an earlier version's checkpoint is today's.
std::int64_t batch_of(const Json& configuration) {
  const Json batch = configuration.value("train.batch", Json());
  return batch.is_number_integer() ? batch.get<std::int64_t>() : Config().train.batch;
}

/// The rows that a state has taken; a negative number where it says nonsense.
std::int64_t rows_of(const Json& state) {
  const auto said = state.find("rows");
  if (said != state.end()) return said->is_number_integer() ? said->get<std::int64_t>() : -1;
  return state["step"].get<std::int64_t>() * batch_of(state["configuration"]);
}

/// None where a state does not say it, such as an earlier version's.
std::optional<Best> best_of(const Json& state) {
  const Json best = state.value("best", Json());
  if (!best.is_object()) return std::nullopt;
  const Json step = best.value("step", Json()), loss = best.value("held_out_loss", Json());
  if (!step.is_number_integer() || !loss.is_number()) return std::nullopt;
  return Best{step.get<std::int64_t>(), loss.get<double>()};
}

Json value_in(const Json& configuration, const std::string& key) { return configuration.value(key, Json()); }

std::string text_of(const Json& value) {
  return value.is_null() ? "not said" : detail::JsonField(value, "").shown();
}

/// A size that is 0 stands for one that others give.
Json in_full(const Json& configuration, const std::string& key) {
  const Json value = value_in(configuration, key);
  const auto number = [&](const char* of) {
    const Json size = value_in(configuration, of);
    return size.is_number_integer() ? size.get<std::int64_t>() : 0;
  };
  if (value != 0) return value;
  if (key == "model.hidden") return 4 * number("model.width");
  if (key == "model.key_value_heads") return number("model.heads");
  if (key == "model.rotary_dims" && number("model.heads") > 0)
    return number("model.width") / number("model.heads");
  return value;
}

/// Do the two configurations' values of a key mean the same to a state? A key that one does not say is one
/// that it does not read. Of sizes that follow a differing one, that one says it.
bool means_the_same(const std::string& key, const Json& then, const Json& now) {
  if (value_in(then, key) == value_in(now, key)) return true;
  const Json before = in_full(then, key), here = in_full(now, key);
  if (before == here || before.is_null() || here.is_null()) return true;
  if (key == "optimizer.momentum") return (before == 0) == (here == 0);  // without, nothing is kept
  if (key == "compute") return (before == "fp16") == (here == "fp16");   // which keeps the loss's scale
  if (key == "model.dropout" || key == "model.new_head") return true;    // of training, and of its beginning
  return !key.starts_with("model.") && key != "optimizer.kind" && key != "precision";
}

/// A state of which the digest is 0 does not say what its data were, as earlier versions' of made data.
bool has_same_data(const TrainingState& then, const TrainingState& now) {
  return then.data == now.data || then.data == hexadecimal(0);
}

/// What can be done instead, where the value of a key cannot be another.
std::string remedy(const std::string& key, const std::string& value, const fs::path& folder) {
  const std::string back = concat("set ", key, " back to ", value);
  if (key.starts_with("model.")) return concat(back, ", or train the other model in another folder");
  return concat(back, ", or begin anew with its weights: model.from=", in_quotes(folder.string()),
                ", in another output.folder, without --resume");
}

/// The step that the name of a checkpoint's folder says; 0 of another folder.
std::int64_t step_of(const fs::path& folder) {
  for (const auto& [step, path] : checkpoints_in(folder.parent_path())) {
    if (path.filename() == folder.filename()) return step;
  }
  return 0;
}

void check_step(const fs::path& folder, std::int64_t step) {
  const std::int64_t named = step_of(folder);
  RIESZ_CHECK(named == 0 || named == step, "the folder ", in_quotes(folder.string()), " is named by step ",
              named, ", and its ", kState, " says step ", step, "; if it was renamed, name it ",
              checkpoint_name(step), " again");
}

}  // namespace

TrainingState state_of(const Config& config, const TrainingProgress& made, std::uint64_t data,
                       const std::optional<Best>& best) {
  return {made, hexadecimal(data), json_of(config), best};
}

std::string to_text(const TrainingState& state) {
  Json all = {{"format", kFormat},
              {"step", state.made.steps},
              {"rows", state.made.rows},
              {"data", state.data},
              {"configuration", state.configuration}};
  if (state.best) all["best"] = {{"step", state.best->step}, {"held_out_loss", state.best->held_out_loss}};
  return all.dump(2) + "\n";
}

TrainingState state_in(const fs::path& folder) try {
  const std::string what = "cannot read " + in_quotes((folder / kState).string()) + ": it";
  const Json state = strict_json(what, bytes_of_file(folder / kState));
  const auto is_good = [&] {
    return state.is_object() && state.value("format", Json()) == kFormat && state.contains("step") &&
           state["step"].is_number_integer() && state["step"] >= 1 && state.contains("configuration") &&
           state["configuration"].is_object() && rows_of(state) >= 0;
  };
  RIESZ_CHECK(is_good(), what, " is no training's state in format ", kFormat);
  const auto step = state["step"].get<std::int64_t>();
  check_step(folder, step);
  const Json data = state.value("data", Json());
  return {{step, rows_of(state)},
          data.is_string() ? data.get<std::string>() : "",
          state["configuration"],
          best_of(state)};
} catch (const Error& error) {
  throw Error(concat(error.what(), "; to go on from an earlier checkpoint, move the folder ",
                     in_quotes(folder.string()), " away"));
}

std::vector<std::string> differences(const TrainingState& then, const TrainingState& now) {
  std::vector<std::string> notes;
  if (!has_same_data(then, now))
    notes.emplace_back(
        "the data are not those of the checkpoint, so rows that are held out now may have been trained on, "
        "and held-out losses before and after measure different rows");
  std::set<std::string> keys;
  for (const TrainingState* state : {&then, &now}) {
    for (const auto& [key, value] : state->configuration.items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const std::string before = text_of(value_in(then.configuration, key));
    const std::string here = text_of(value_in(now.configuration, key));
    if (before != here) notes.push_back(concat(key, " was ", before, ", and is ", here));
  }
  return notes;
}

bool measures_the_same(const TrainingState& then, const TrainingState& now) {
  if (!has_same_data(then, now)) return false;
  const auto same = [&](const std::string& key) {
    return value_in(then.configuration, key) == value_in(now.configuration, key);
  };
  const auto decides = [](const std::string& key) {
    return key.starts_with("data.") || key == "train.seed" || key == "train.eval_size";
  };
  for (const auto& [key, value] : now.configuration.items()) {
    if (decides(key) && !same(key)) return false;
  }
  return true;
}

void check_goes_on(const TrainingState& then, const fs::path& folder, const Config& config) {
  const Json now = json_of(config);
  std::vector<std::string> keys{"model.kind", "optimizer.kind"};  // others are read by some kinds alone
  for (const auto& [key, value] : now.items()) keys.push_back(key);
  for (const std::string& key : keys) {
    if (means_the_same(key, then.configuration, now)) continue;
    const std::string value = text_of(value_in(then.configuration, key));
    throw_error(concat("cannot go on from ", in_quotes(folder.string()), ": it is of ", key, " = ", value,
                       ", and here it is ", value_and_origin(config, key), "; ", remedy(key, value, folder)));
  }
}

}  // namespace riesz
