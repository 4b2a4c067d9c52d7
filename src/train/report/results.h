// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "riesz/io/folder_lock.h"
#include "riesz/train/config/config.h"
#include "riesz/train/report/history.h"
#include "riesz/train/report/progress.h"

namespace riesz {

/// A run's config.toml: with paths that mean the same from any folder, it reads back as the same. Local.
/// @throws Error naming the key of a text that is no UTF-8, such as a folder's name: TOML has no such text.
std::string saved_config(const Config& config);

/// What one worker shows of a run as it goes on, and writes into config.output.folder: config.toml; row by
/// row loss.csv, metrics.jsonl and TensorBoard's events.out.tfevents.0.riesz; at the end loss.svg and
/// report.txt. As long as this lives no other job has the folder.
class Results {
 public:
  /// Makes the folder if need be, and changes nothing in it. `counted`: what rates count, such as "token".
  /// @throws Error naming the job that has it, or if it cannot be made.
  Results(const Config& config, const std::string& counted, std::ostream& out);

  /// The run goes on from this step of an earlier one: its rows up to there stay, in each file, and are
  /// returned. Where loss.csv is damaged, that is said; with the first step the files of rows are repaired,
  /// and those that were there are kept beside them (`keep_beside`). Before the first step.
  const std::vector<Row>& resume(std::int64_t step);

  /// Shows a step and writes its row; with the first, the files of an earlier run are replaced. A later row
  /// that cannot be written, such as on a full disk, is said and does not end the run: all rows are written
  /// again at the end. @throws Error if the first one cannot be written.
  void step(const Row& row);
  /// A line for people between the lines of steps.
  void say(const std::string& line);
  /// Prints the report, and only then writes it and the other files.
  /// @throws Error naming a file that cannot be written.
  void finish(const std::vector<Row>& rows, const std::vector<std::string>& task_lines,
              const std::string& summary);

 private:
  /// A file of rows; no `file` once a row could not be written.
  struct Rows {
    const char* name;
    RowFormat format;
    std::optional<RowFile> file;
  };

  void begin();
  /// Says once, on standard error, that what is shown reaches nobody any more.
  void look_at_output();

  Config config_;
  std::filesystem::path folder_;
  FolderLock lock_;
  std::ostream& out_;
  Progress progress_;
  std::vector<Rows> histories_;  ///< empty before the first step
  bool shown_ = true;            ///< does the output take what is written?
  std::vector<Row> earlier_;
  bool damaged_ = false;  ///< the earlier history
};

}  // namespace riesz
