// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace riesz {

/// How the gates of a model with experts chose in a step, over all its tokens.
struct ExpertRow {
  double expert_load = 0;   ///< the largest share of choices of one expert ÷ the mean; 1: all chosen alike
  double dropped = 0;       ///< the share of choices that were dropped, mean over blocks
  double gate_entropy = 0;  ///< of a token's probabilities of experts, in nats, mean over tokens and blocks

  bool operator==(const ExpertRow&) const = default;
};

/// The record of one step of training.
struct Row {
  std::int64_t step = 0;                ///< counted from 1
  double loss = 0;                      ///< mean of the step's batch, in nats, before its update
  std::optional<double> held_out_loss;  ///< after the update, where it was measured
  double learning_rate = 0;
  double gradient_norm = 0;  ///< before clipping
  double rate = 0;           ///< units of the task (`DataUnit`) a second, in this step alone
  double seconds = 0;        ///< since training began
  bool skipped = false;      ///< fp16: it changed nothing; not written to files, where the norm is infinite
  std::optional<ExpertRow> experts = {};  ///< of a model with experts; not in the CSV
  std::optional<double> overlap = {};     ///< of pixels (`HeldOut::overlap`), with that loss; not in the CSV

  bool operator==(const Row&) const = default;
};

/// The first line of the CSV, and a row as a line of it. Numbers have all their digits, so they read back the
/// same.
std::string csv_header();
std::string csv_line(const Row& row);

/// The row of such a line, given without its line break; nothing for another text.
std::optional<Row> row_of_csv(const std::string& line);

/// The format of a file of rows: its head, and the text of each row.
struct RowFormat {
  std::string head;
  std::function<std::string(const Row&)> text;

  std::string of(const std::vector<Row>& rows) const;
};

RowFormat csv_format();
/// A JSON object in each line, with the CSV's names, held_out_iou of pixels, and expert_load, dropped and
/// gate_entropy of a model with experts. Numbers that were not measured are left out, and so are those that
/// are not finite, which JSON cannot express.
RowFormat json_lines();

/// A file of rows on disk. Each row is written at once, by one write, so a crash loses no written row.
class RowFile {
 public:
  /// Starts the file anew, with these rows.
  /// @throws Error if it cannot.
  RowFile(std::filesystem::path path, RowFormat format, const std::vector<Row>& rows = {});
  /// @throws Error if the row cannot be written, such as on a full disk.
  void append(const Row& row);

 private:
  std::filesystem::path path_;
  RowFormat format_;
  std::ofstream file_;
};

}  // namespace riesz
