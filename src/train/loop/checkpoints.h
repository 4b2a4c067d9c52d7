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

/// @throws Error if there is no checkpoint where --resume looks for one. Local.
void check_can_resume(const Config& config);

/// A training's checkpoints, as config.checkpoint says. They are folders checkpoint-STEP with the model and
/// the files beside it, the optimizer's state, and state.json. The latter has the step, the rows of data that
/// were taken, a digest of the data, and the best step so far. It has the configuration too, but for the
/// device, the layout, the pipeline, checkpoints, output, and where files lie. A step's learning rate and
/// dropout are functions of its number, and its data of the rows taken before. So training goes on from these
/// numbers and the state alone, also with another train.batch.
///
/// The last step has one, and each with a held-out loss below those before. The first worker decides which is
/// the best, and tells the others by a flag for each measurement, or by two: processors that differ may
/// compute held-out losses with different last bits.
class Checkpoints {
 public:
  /// Collective over the model's workers. With checkpoint.save the folder is this job's alone as long as this
  /// lives. A training that begins anew moves the checkpoints of an earlier one, with its results, into a
  /// folder earlier-N beside them (`set_aside`). With checkpoint.every it refuses: earlier checkpoints
  /// there are meant to be resumed. @throws Error naming them then, or the job that writes there.
  /// @throws Error, with config.resume on all workers, if there is no checkpoint, or if it is none of a
  /// training, or has all steps already. @throws Error if its state means something else here
  /// (`check_goes_on`), naming what is not as it was then.
  Checkpoints(const Config& config, const Learner& model, const Task& task, TrainingStep& step);

  /// With config.resume loads the state of the last checkpoint, at any layout. Collective.
  /// @throws Error on all workers naming all of the state that does not fit.
  Beginning begin();

  /// To be called after each step, counted from 1. Saves where a checkpoint is due, where a measured held-out
  /// loss is the least so far, and after the last step.
  /// With config.checkpoint.background it copies the state and returns; the checkpoint is there when the
  /// disks are done. Before it begins the next one, and after the last step, it waits. Returns "", or why a
  /// checkpoint could not be saved, such as a full disk; the last good one stays; or why an older one could
  /// not be removed. Collective.
  std::string after(std::int64_t step, bool last = false, const std::optional<double>& held_out_loss = {});

  /// Does config.checkpoint.every ask for one after this step? Local.
  bool due(std::int64_t step) const;

  /// At the end of a training, after `after(step, true)`. Collective. @throws Error on all workers where
  /// checkpoint.save asks for one and there is none of this step, saying why, and where the results are.
  void check_saved(std::int64_t step) const;

  /// Says in a line from which checkpoint --resume goes on now, with its step, or that there is none. A
  /// second line says which of them `riesz generate` or `riesz classify` takes when given the folder. Local,
  /// and good as long as the folder is, also when this is gone.
  std::function<std::string()> what_resume_takes() const;

  /// On the first worker: where those of an earlier training have gone, a line for each folder; else "".
  const std::string& moved() const { return set_aside_; }

  /// Waits until the checkpoint that is being written is there. Returns as `after`. Collective.
  std::string wait();

  /// The same for a worker with an error that the others may not have. Not collective; it waits until the
  /// deadline at most. The checkpoint is finished as long as all processes live.
  std::string finish();

  /// A text for a training that has stopped: the last checkpoint, and how to go on from it. "" where there is
  /// none. Local.
  std::string last() const;

 private:
  /// @throws Error where there are checkpoints of an earlier training.
  void refuse_all() const;
  void set_all_aside();
  /// The checkpoint of step `begun_` is there.
  void is_saved();
  /// Looks whether the checkpoint that is being written is there; with `to_its_end` until it is.
  std::string go_on(bool to_its_end);
  void find_beginning(const std::filesystem::path& folder);
  /// `best`: of the steps up to this one.
  void save(std::int64_t step, const std::optional<Best>& best);
  /// As the first worker says. Collective where there is a loss.
  bool is_best(const std::optional<double>& held_out_loss) const;
  /// The message of a failure to save: before the checkpoint was there, or where older ones are removed.
  /// Collective: the first worker's view of the folder is all workers'.
  std::string failure(std::int64_t step, const Error& error);
  /// Does this worker see that checkpoint in the folder?
  bool is_there(std::int64_t step) const;
  /// After that step.
  TrainingProgress made(std::int64_t step) const;

  Config config_;
  const Learner& model_;
  TrainingStep& step_;
  std::uint64_t data_;
  std::filesystem::path folder_;
  Beginning beginning_;  ///< where it resumes
  std::int64_t saved_ = 0;
  std::int64_t begun_ = 0;
  std::optional<Best> best_;        ///< of those that are there
  std::optional<Best> begun_best_;  ///< once that of step `begun_` is there
  std::string set_aside_;
  std::string why_none_;                   ///< of the last step that has no checkpoint
  std::optional<FolderLock> lock_;         ///< of checkpoint.folder, where that is another
  std::optional<BackgroundSave> writing_;  ///< of step `begun_`
};

}  // namespace riesz
