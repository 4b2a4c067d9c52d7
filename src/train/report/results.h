// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "riesz/io/folder_lock.h"
#include "riesz/train/config/config.h"
#include "riesz/train/data/task.h"
#include "riesz/train/report/history.h"
#include "riesz/train/report/progress.h"

namespace riesz {

/// The text of a run's config.toml. Its paths are valid from any folder, and it reads back as the same
/// configuration. Local.
/// @throws Error naming the key of a text that is no UTF-8, such as a folder's name: TOML cannot hold it.
std::string saved_config(const Config& config);

/// The results of a run: what one worker prints, and writes into config.output.folder. The files are
/// config.toml; row by row loss.csv, metrics.jsonl and TensorBoard's events.out.tfevents.0.riesz; and at the
/// end loss.svg and report.txt. While this lives no other job can use the folder.
class Results {
 public:
  /// Makes the folder if need be, and changes nothing in it. `unit`: of the task's data.
  /// @throws Error naming the job that has it, or if it cannot be made.
  /// `report` takes what was asked for, and `notes` progress and what people may want to know.
  Results(const Config& config, const DataUnit& unit, std::ostream& report, std::ostream& notes);

  /// Resumes from this step of an earlier run: its rows up to there stay in each file, and are returned. If
  /// loss.csv is damaged, it says so; the first step then repairs the files of rows and keeps the old ones
  /// beside them (`keep_beside`). Call it before the first step.
  const std::vector<Row>& resume(std::int64_t step);

  /// Shows a step and writes its row; the first step replaces the files of an earlier run. If a later row
  /// cannot be written, such as on a full disk, it says so and the run goes on. All rows are written again at
  /// the end. @throws Error if the first row cannot be written.
  void step(const Row& row);
  /// A note between the lines of steps.
  void say(const std::string& line);
  /// Prints the report, and only then writes it and the other files; with a picture (`Task::picture`), if
  /// that is defined, also pictures.png.
  /// @throws Error naming a file that cannot be written.
  void finish(const std::vector<Row>& rows, const std::vector<std::string>& task_lines,
              const std::string& summary, const at::Tensor& picture = {});
  /// Prints the report's last line, behind all that is saved. @throws Error where the report could not be
  /// printed.
  void conclude(const std::string& line);

 private:
  /// A file of rows; no `file` once a row could not be written.
  struct Rows {
    const char* name;
    RowFormat format;
    std::optional<RowFile> file;
  };

  void begin();
  void print(const std::string& text);

  Config config_;
  DataUnit unit_;
  std::filesystem::path folder_;
  FolderLock lock_;
  std::ostream& report_;
  std::ostream& notes_;
  Progress progress_;
  std::vector<Rows> histories_;  ///< empty before the first step
  std::vector<Row> earlier_;
  bool damaged_ = false;  ///< the earlier history
  int unprinted_ = 0;     ///< the system's reason (errno) why the report could not be printed; 0: it could
};

}  // namespace riesz
