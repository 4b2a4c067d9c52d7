// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/background_save.h"
#include "riesz/io/folder_lock.h"
#include "riesz/train/config/config.h"
#include "riesz/train/data/task.h"
#include "riesz/train/loop/learner.h"
#include "riesz/train/loop/step.h"

namespace riesz {

/// The place where a training begins.
struct Beginning {
  std::int64_t step = 0;           ///< how many it has made
  std::int64_t rows = 0;           ///< of training data that these have taken
  std::filesystem::path folder;    ///< the checkpoint that it goes on from; empty where it begins anew
  std::vector<std::string> notes;  ///< what is not as it was then, a line each
};

/// A training's checkpoints, as config.checkpoint says: folders checkpoint-STEP. Each has the model with the
/// files beside it, the optimizer's state, and state.json. That has the step, the number of rows taken, a
/// digest of the data, and the configuration without the layout, the pipeline and paths. A step's learning
/// rate and dropout are functions of its number, and its data of the rows taken before. So training can be
/// resumed from these two numbers and the state alone, even with another train.batch.
class Checkpoints {
 public:
  /// Collective over the model's workers. With checkpoint.every no other job can use the folder while this
  /// lives.
  /// @throws Error where a new training would mix its files with an earlier one's checkpoints, even if it
  /// saves none itself. Also naming another job that writes there. With config.resume, on all workers, if
  /// there is no checkpoint, or it is not one of a training, or has all steps already. Also if its state
  /// means something else here (`check_goes_on`), naming what has changed.
  Checkpoints(const Config& config, const Learner& model, const Task& task, TrainingStep& step);

  /// With config.resume loads the state of the last checkpoint, at any layout. Collective.
  /// @throws Error on all workers naming all of the state that does not fit.
  Beginning begin();

  /// Saves where a checkpoint is due, and after the last step. Call it after each step, counted from 1. With
  /// config.checkpoint.background it copies the state and returns; the checkpoint is there when the disks are
  /// done. It waits for that before it begins the next one, and after the last step. Returns "", or why a
  /// checkpoint could not be saved (such as a full disk; the last good one stays), or why an older one could
  /// not be removed. Collective.
  std::string after(std::int64_t step, bool last = false);

  /// Checks at the end of a training, after `after(step, true)`. Collective. @throws Error on all workers
  /// where checkpoint.every asks for a checkpoint and there is none of this step. It says why, and where the
  /// results are.
  void check_saved(std::int64_t step) const;

  /// A function that gives a line: the checkpoint from which --resume would go on now, with its step, or that
  /// there is none. Local; it works as long as the folder exists, also after this is destroyed.
  std::function<std::string()> what_resume_takes() const;

  /// Waits until the checkpoint that is being written is there. Returns as `after`. Collective.
  std::string wait();

  /// The same for a worker with an error that the others may not have. Not collective; it waits until the
  /// deadline at most. The checkpoint is finished as long as all processes live.
  std::string finish();

  /// A text for a training that has stopped: the last checkpoint, and how to go on from it. "" where there is
  /// none. Local.
  std::string last() const;

 private:
  /// Checks whether the checkpoint that is being written is there; with `to_its_end` waits until it is.
  std::string go_on(bool to_its_end);
  void find_beginning(const std::filesystem::path& folder);
  void save(std::int64_t step);
  /// The message of a failure to save: before the checkpoint was there, or where older ones are removed.
  /// Collective: the first worker's view of the folder is all workers'.
  std::string failure(std::int64_t step, const Error& error);
  /// Does this worker see that checkpoint in the folder?
  bool is_there(std::int64_t step) const;
  /// After that step.
  Made made(std::int64_t step) const;

  Config config_;
  const Learner& model_;
  TrainingStep& step_;
  std::uint64_t data_;
  std::filesystem::path folder_;
  Beginning beginning_;  ///< where it resumes
  std::int64_t saved_ = 0;
  std::int64_t begun_ = 0;
  std::string why_none_;                   ///< of the last step that has no checkpoint
  std::optional<FolderLock> lock_;         ///< of checkpoint.folder, where that is another
  std::optional<BackgroundSave> writing_;  ///< of step `begun_`
};

}  // namespace riesz
