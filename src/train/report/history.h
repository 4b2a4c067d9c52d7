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

/// What one step of training left behind.
struct Row {
  std::int64_t step = 0;                ///< counted from 1
  double loss = 0;                      ///< mean of the step's batch, in nats, before its update
  std::optional<double> held_out_loss;  ///< after the update, where it was measured
  double learning_rate = 0;
  double gradient_norm = 0;  ///< before clipping
  double rate = 0;           ///< of what the task counts (`DataUnit`), a second, in this step alone
  double seconds = 0;        ///< since training began
  bool skipped = false;      ///< fp16: it changed nothing; not written to files, where the norm is infinite

  bool operator==(const Row&) const = default;
};

/// The first line of the CSV, and a row as a line of it. Numbers have all their digits, so they read back the
/// same.
std::string csv_header();
std::string csv_line(const Row& row);

/// The row of such a line, without its end; none of another text.
std::optional<Row> row_of_csv(const std::string& line);

/// How a file has rows: what it begins with, and what each adds.
struct RowFormat {
  std::string head;
  std::function<std::string(const Row&)> text;

  std::string of(const std::vector<Row>& rows) const;
};

RowFormat csv_format();
/// An object in each line, with the CSV's names; what was not measured, or is not finite, which JSON cannot
/// say, is left out.
RowFormat json_lines();

/// A file on disk that has each row as soon as it is given, in one write: a crash loses nothing already
/// written.
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
