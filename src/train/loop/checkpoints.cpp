// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/checkpoints.h"

#include <limits>
#include <map>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/comm/status_board.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/checkpoint/state_lost.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/nn/module.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/primitives/all_max.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/data/normalisation.h"
#include "riesz/train/data/task.h"
#include "riesz/train/loop/run_folder.h"
#include "riesz/train/loop/training_state.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

bool same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

/// `way`: what else than --resume is needed to go on from them.
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
              " to resume from; checkpoint.every says how often one is saved, checkpoint.folder where",
              what_is_in(folder));
  return all.back().second;
}

fs::path folder_of(const Config& config) {
  return config.checkpoint.folder.empty() ? config.output.folder : config.checkpoint.folder;
}

/// The command that takes a model with these files beside it; "" where none does.
const char* command_of(const std::map<std::string, std::string>& files) {
  if (files.contains("tokenizer.json")) return "riesz generate";
  return files.contains("preprocessor_config.json") ? "riesz classify" : "";
}

std::string since_then(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += (text.empty() ? "; since then: " : "; ") + escaped(note);
  return text;
}

std::string failure_text(std::int64_t step, bool there, const std::string& why) {
  return concat(there ? "after the checkpoint of step " : "no checkpoint of step ", step,
                there ? ", which is there: " : ": ", why);
}

}  // namespace

void check_can_resume(const Config& config) { last_checkpoint_in(folder_of(config)); }

Checkpoints::Checkpoints(const Config& config, const Learner& model, const Task& task, TrainingStep& step)
    : config_(config), model_(model), step_(step), data_(task.digest()), folder_(folder_of(config)) {
  const Partition& mesh = model_.workers;
  std::string last;
  all_or_none(mesh, [&] {
    if (mesh.rank() != 0) return;
    if (config_.resume) last_checkpoint_in(folder_);  // before anything is made
    if (!config_.resume && config_.checkpoint.every > 0) refuse_all();
    const bool beside = !same_place(folder_, config_.output.folder);
    if (beside && config_.checkpoint.save) {  // of output.folder the results have the lock
      make_folders(folder_);
      lock_.emplace(folder_);
    }
    if (config_.resume) last = last_checkpoint_in(folder_).string();
    if (!config_.resume) set_all_aside();
  });
  if (!config_.resume) return;
  find_beginning(collect_texts(mesh, last).front());
  const std::map<std::string, std::string> files = task.files();
  const auto normalised = files.find(Normalisation::file);
  if (normalised == files.end()) return;
  all_or_none(mesh, [&] { check_normalised_alike(beginning_.folder, normalised->second); });
}

void Checkpoints::refuse_all() const {
  refuse_earlier(folder_, config_.checkpoint.folder.empty() ? "output.folder" : "checkpoint.folder");
  if (!same_place(folder_, config_.output.folder))
    refuse_earlier(config_.output.folder, "output.folder", ", without checkpoint.folder");
}

void Checkpoints::set_all_aside() {
  const fs::path results = config_.output.folder;
  for (const fs::path& folder : {folder_, results}) {
    // Where this training saves nothing another one may be saving.
    const bool own = config_.checkpoint.save || same_place(folder, results);
    const fs::path moved = own ? set_aside(folder) : fs::path();
    if (!moved.empty())
      set_aside_ += concat(set_aside_.empty() ? "" : "\n",
                           "the checkpoints of an earlier training are now in ", in_quotes(moved.string()));
  }
}

void Checkpoints::find_beginning(const fs::path& folder) {
  all_or_none(model_.workers, [&] {
    const TrainingState then = state_in(folder);
    const TrainingState now = state_of(config_, then.made, data_);
    check_goes_on(then, folder, config_);
    beginning_ = {then.made.steps, then.made.rows, folder, differences(then, now)};
    if (measures_the_same(then, now)) best_ = then.best;
    RIESZ_CHECK(beginning_.step < config_.train.steps, "the checkpoint ", in_quotes(folder.string()),
                " has made ", beginning_.step, " steps of ", value_and_origin(config_, "train.steps"),
                "; say more to go on", since_then(beginning_.notes));
  });
}

Beginning Checkpoints::begin() {
  if (!config_.resume) return {};
  load_checkpoint(beginning_.folder, model_.workers, step_.state(),
                  published_shapes(model_.module.parameters()),
                  {.remedy = concat("go on with the model.* and optimizer.* keys by which it was saved",
                                    since_then(beginning_.notes)),
                   .finite = true});
  saved_ = beginning_.step;
  return beginning_;
}

TrainingProgress Checkpoints::made(std::int64_t step) const {
  return {step, beginning_.rows + (step - beginning_.step) * config_.train.batch};
}

bool Checkpoints::is_best(const std::optional<double>& held_out_loss) const {
  if (!config_.checkpoint.save || !config_.checkpoint.best || !held_out_loss) return false;
  const bool less = *held_out_loss < (best_ ? best_->held_out_loss : std::numeric_limits<double>::infinity());
  const Partition& mesh = model_.workers;
  std::vector<std::string> axes;
  for (const Axis& axis : mesh.axes()) axes.push_back(axis.name);
  return any_flag(mesh, axes, mesh.rank() == 0 && less);
}

void Checkpoints::save(std::int64_t step, const std::optional<Best>& best) {
  const Partition& mesh = model_.workers;
  std::map<std::string, std::string> texts = model_.files;
  texts["state.json"] = to_text(state_of(config_, made(step), data_, best));
  const CheckpointContents contents{step_.state(), published_shapes(model_.module.parameters()), texts};
  const std::int64_t stays = best ? best->step : 0;
  const auto remove_older = [folder = folder_, keep = config_.checkpoint.keep, stays] {
    if (keep > 0) keep_checkpoints(folder, keep, stays);
  };
  begun_ = step;
  begun_best_ = best;
  if (config_.checkpoint.background) {
    writing_.emplace(folder_ / checkpoint_name(step), mesh, contents, remove_older);
    return;
  }
  save_checkpoint(folder_ / checkpoint_name(step), mesh, contents);
  is_saved();
  all_or_none(mesh, [&] {
    if (mesh.rank() == 0) remove_older();
  });
}

void Checkpoints::is_saved() {
  saved_ = begun_;
  best_ = begun_best_;
}

bool Checkpoints::is_there(std::int64_t step) const {
  std::error_code unknown;
  return fs::exists(folder_ / checkpoint_name(step), unknown);
}

std::string Checkpoints::failure(std::int64_t step, const Error& error) {
  const bool there = !collect_texts(model_.workers, is_there(step) ? "there" : "").front().empty();
  if (there)
    is_saved();
  else
    why_none_ = error.what();
  return failure_text(step, there, error.what());
}

std::string Checkpoints::go_on(bool to_its_end) {
  if (!writing_) return "";
  try {
    if (to_its_end) writing_->wait();
    if (!writing_->go_on()) return "";
    is_saved();
    writing_.reset();
    return "";
  } catch (const Error& error) {
    writing_.reset();
    return failure(begun_, error);
  }
}

void Checkpoints::check_saved(std::int64_t step) const {
  if (!config_.checkpoint.save || saved_ == step) return;
  wait_for_all(model_.workers);  // the first worker has written the results
  throw_error(concat("the training has ended after step ", step,
                     ", but it has no checkpoint of that step, so the weights are lost; its losses and its "
                     "report are in ",
                     in_quotes(config_.output.folder), "; it could not be saved: ", why_none_));
}

std::function<std::string()> Checkpoints::what_resume_takes() const {
  const char* const command = command_of(model_.files);
  const std::int64_t steps = config_.train.steps;
  return [folder = absolute_path(folder_), command, steps, saves = config_.checkpoint.save] {
    const auto all = checkpoints_in(folder);
    if (all.empty())
      return concat(
          "there is no checkpoint in ", in_quotes(folder.string()), " from which --resume could go on; ",
          saves ? "checkpoint.every says how often one is saved" : "checkpoint.save = false asked for none");
    const auto& [step, last] = all.back();
    std::string text = concat(step < steps ? "--resume goes on from " : "the last checkpoint is ",
                              in_quotes(last.string()), ", of step ", step);
    const auto model = model_checkpoint_in(folder);
    if (command[0] != '\0' && model)
      text +=
          concat("\n`", command, " ", escaped(folder.string()), "` takes ", in_quotes(model->folder.string()),
                 ", ", model->best ? "the best by held-out loss" : "the last");
    return text;
  };
}

std::string Checkpoints::wait() { return go_on(true); }

std::string Checkpoints::finish() {
  if (!writing_) return "";
  StatusBoard::note(concat("after an error, at the checkpoint of step ", begun_));
  const std::string why = writing_->finish();
  writing_.reset();
  if (why.empty() || is_there(begun_)) is_saved();
  return why.empty() ? "" : failure_text(begun_, is_there(begun_), why);
}

std::string Checkpoints::last() const {
  if (saved_ == 0) return "";
  const bool ours = config_.checkpoint.save && is_there(saved_);
  std::error_code unknown;
  const bool earlier = saved_ == beginning_.step && fs::exists(beginning_.folder, unknown);
  if (!ours && !earlier) return "";
  const fs::path folder = ours ? folder_ / checkpoint_name(saved_) : beginning_.folder;
  return concat("the last checkpoint is of step ", saved_, ", in ", in_quotes(folder.string()),
                "; --resume goes on from it");
}

bool Checkpoints::due(std::int64_t step) const {
  const std::int64_t every = config_.checkpoint.every;
  return config_.checkpoint.save && every > 0 && step % every == 0;
}

std::string Checkpoints::after(std::int64_t step, bool last, const std::optional<double>& held_out_loss) {
  if (!config_.checkpoint.save) return "";
  const bool asked = due(step) || last;
  // What is being written may be the best one, if it can be written.
  const bool maybe_best = is_best(held_out_loss);
  std::string text = go_on(asked || maybe_best);
  const auto add = [&](const std::string& line) {
    text += (text.empty() || line.empty() ? "" : "\n") + line;
  };
  const bool best = maybe_best && is_best(held_out_loss);
  if (!(asked || best) || saved_ == step) return text;
  try {
    save(step, best ? Best{step, *held_out_loss} : best_);
  } catch (const StateLost&) {
    throw;  // nothing is left to train with
  } catch (const Error& error) {
    add(failure(step, error));
  }
  if (last) add(wait());
  return text;
}

}  // namespace riesz
