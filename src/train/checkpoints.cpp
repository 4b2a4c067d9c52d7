// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/checkpoints.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <system_error>
#include <variant>

#include "riesz/comm/board.h"
#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/strict_json.h"
#include "riesz/nn/module.h"
#include "riesz/partition/alike.h"
#include "riesz/train/schema.h"
#include "riesz/train/task.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kState = "state.json";
constexpr std::int64_t kFormat = 1;

/// Where a training runs and what it writes, which its state does not depend on; and paths.
bool is_place(const Key& key) {
  const auto of = [&](const char* section) { return key.name.starts_with(section); };
  return of("layout.") || of("pipeline.") || of("output.") || of("checkpoint.") || key.path;
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

bool same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

/// A training that begins anew would leave checkpoints of one run beside the losses of another. `way`: what
/// else than --resume is needed to go on from them.
void refuse_earlier(const fs::path& folder, const char* key, const char* way = "") {
  const auto there = checkpoints_in(folder);
  if (there.empty()) return;
  throw_error(concat("the folder ", in_quotes(folder.string()),
                     " has checkpoints of an earlier training, the last of step ", there.back().first,
                     "; go on from it with --resume", way, ", or remove them, or choose another ", key));
}

fs::path last_checkpoint_in(const fs::path& folder) {
  const auto all = checkpoints_in(folder);
  RIESZ_CHECK(!all.empty(), "there is no checkpoint in ", in_quotes(folder.string()),
              " to resume from; checkpoint.every says how often one is saved, checkpoint.folder where");
  return all.back().second;
}

Json state_in(const fs::path& folder) try {
  const std::string what = "cannot read " + in_quotes((folder / kState).string()) + ": it";
  Json state = strict_json(what, bytes_of_file(folder / kState));
  const bool good = state.value("format", Json()) == kFormat && state["step"].is_number_integer() &&
                    state["step"] >= 1 && state["configuration"].is_object();
  RIESZ_CHECK(good, what, " is no training's state in format ", kFormat);
  return state;
} catch (const Error& error) {
  throw Error(concat(error.what(), "; to go on from an earlier checkpoint, move the folder ",
                     in_quotes(folder.string()), " away"));
}

std::string since_then(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += (text.empty() ? "; since then: " : "; ") + escaped(note);
  return text;
}

/// Of another kind no tensor would fit, which says less.
void check_kind(const Json& state, const fs::path& folder, const Config& config) {
  constexpr const char* kKind = "model.kind";
  const Json kind = state["configuration"].value(kKind, Json());
  RIESZ_CHECK(kind.is_null() || kind == config.model.kind, "cannot go on from ", in_quotes(folder.string()),
              ": it is of ", kKind, " = ", kind.dump(), ", and here it is ", value_and_origin(config, kKind),
              "; train on by the configuration that it was made with, or in another folder");
}

std::string failure_text(std::int64_t step, bool there, const std::string& why) {
  return concat(there ? "after the checkpoint of step " : "no checkpoint of step ", step,
                there ? ", which is there: " : ": ", why);
}

}  // namespace

Checkpoints::Checkpoints(const Config& config, const Learner& model, const Task& task, TrainingStep& step)
    : config_(config),
      model_(model),
      step_(step),
      data_(task.digest()),
      folder_(config.checkpoint.folder.empty() ? config.output.folder : config.checkpoint.folder) {
  const Partition& mesh = model_.workers;
  std::string last;
  all_or_none(mesh, [&] {
    if (mesh.rank() != 0) return;
    const bool beside = !same_place(folder_, config_.output.folder);
    if (config_.resume) {
      last_checkpoint_in(folder_);  // before anything is made
    } else {
      refuse_earlier(folder_, config_.checkpoint.folder.empty() ? "output.folder" : "checkpoint.folder");
      if (beside) refuse_earlier(config_.output.folder, "output.folder", ", without checkpoint.folder");
    }
    if (beside && config_.checkpoint.every > 0) {  // of output.folder the results have the lock
      make_folders(folder_);
      lock_.emplace(folder_);
    }
    if (config_.resume) last = last_checkpoint_in(folder_).string();
  });
  if (config_.resume) find_beginning(collect_texts(mesh, last).front());
}

void Checkpoints::find_beginning(const fs::path& folder) {
  all_or_none(model_.workers, [&] {
    const Json state = state_in(folder);
    check_kind(state, folder, config_);
    beginning_ = {state["step"].get<std::int64_t>(), folder, notes_on(state.dump())};
    RIESZ_CHECK(beginning_.step < config_.train.steps, "the checkpoint ", in_quotes(folder.string()),
                " has made ", beginning_.step, " steps of ", value_and_origin(config_, "train.steps"),
                "; say more to go on", since_then(beginning_.notes));
  });
}

Beginning Checkpoints::begin() {
  if (!config_.resume) return {};
  load_checkpoint(beginning_.folder, model_.workers, step_.state(),
                  published_shapes(model_.module.parameters()),
                  {.remedy = "go on with the model.* and optimizer.* keys by which it was saved"});
  step_.loaded();
  saved_ = beginning_.step;
  return beginning_;
}

std::string Checkpoints::state_text(std::int64_t step) const {
  const Json state = {
      {"format", kFormat}, {"step", step}, {"data", hexadecimal(data_)}, {"configuration", json_of(config_)}};
  return state.dump(2) + "\n";
}

std::vector<std::string> Checkpoints::notes_on(const std::string& text) const {
  const Json before = Json::parse(text), now = Json::parse(state_text(0));
  std::vector<std::string> notes;
  if (before.value("data", Json()) != now["data"])
    notes.emplace_back("the data are not those of the checkpoint");
  std::set<std::string> keys;
  for (const Json* some : {&before["configuration"], &now["configuration"]}) {
    for (const auto& [key, value] : some->items()) keys.insert(key);
  }
  const auto value_in = [](const Json& state, const std::string& key) {
    const Json& configuration = state["configuration"];
    return configuration.contains(key) ? configuration[key].dump() : std::string("not said");
  };
  for (const std::string& key : keys) {
    const std::string then = value_in(before, key), here = value_in(now, key);
    if (then != here) notes.push_back(concat(key, " was ", then, ", and is ", here));
  }
  return notes;
}

void Checkpoints::save(std::int64_t step) {
  const Partition& mesh = model_.workers;
  std::map<std::string, std::string> texts = model_.files;
  texts[kState] = state_text(step);
  const CheckpointContents contents{step_.state(), published_shapes(model_.module.parameters()), texts};
  const auto remove_older = [folder = folder_, keep = config_.checkpoint.keep] {
    if (keep > 0) keep_checkpoints(folder, keep);
  };
  begun_ = step;
  if (config_.checkpoint.background) {
    writing_.emplace(folder_ / checkpoint_name(step), mesh, contents, remove_older);
    return;
  }
  save_checkpoint(folder_ / checkpoint_name(step), mesh, contents);
  saved_ = step;
  all_or_none(mesh, [&] {
    if (mesh.rank() == 0) remove_older();
  });
}

bool Checkpoints::is_there(std::int64_t step) const {
  std::error_code unknown;
  return fs::exists(folder_ / checkpoint_name(step), unknown);
}

std::string Checkpoints::failure(std::int64_t step, const Error& error) {
  const bool there = !collect_texts(model_.workers, is_there(step) ? "there" : "").front().empty();
  if (there) saved_ = step;
  return failure_text(step, there, error.what());
}

std::string Checkpoints::go_on(bool to_its_end) {
  if (!writing_) return "";
  try {
    if (to_its_end) writing_->wait();
    if (!writing_->go_on()) return "";
    saved_ = begun_;
    writing_.reset();
    return "";
  } catch (const Error& error) {
    writing_.reset();
    return failure(begun_, error);
  }
}

std::string Checkpoints::wait() { return go_on(true); }

std::string Checkpoints::finish() {
  if (!writing_) return "";
  Board::note(concat("after an error, at the checkpoint of step ", begun_));
  const std::string why = writing_->finish();
  writing_.reset();
  return why.empty() ? "" : failure_text(begun_, is_there(begun_), why);
}

std::string Checkpoints::after(std::int64_t step, bool last) {
  const std::int64_t every = config_.checkpoint.every;
  if (every == 0) return "";
  const bool due = step % every == 0 || last;
  std::string text = go_on(due);
  const auto add = [&](const std::string& line) {
    text += (text.empty() || line.empty() ? "" : "\n") + line;
  };
  if (!due || saved_ == step) return text;
  try {
    save(step);
  } catch (const Error& error) {
    add(failure(step, error));
  }
  if (last) add(wait());
  return text;
}

}  // namespace riesz
