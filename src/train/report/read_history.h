// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "riesz/train/report/history.h"

namespace riesz {

/// The rows read from a loss.csv. The file is only a record, so damage is reported in notes and is no error.
struct ReadHistory {
  std::vector<Row> rows;           ///< at most one of each step, in order
  std::vector<std::string> notes;  ///< the damage, a line each, with the file's name and the line's number
  bool damaged = false;            ///< has it lines that are no rows, or rows in disorder?
};

/// Reads the rows up to this step of a history that a training has written, with notes. Notes name lines that
/// are no rows, rows that are there twice or out of order, and steps without a row. A last line that is cut
/// off is no damage: the job was killed as it wrote it. A file that cannot be read is damage. Missing rows
/// are read from `lines`, which has the same rows as `json_lines` writes them. Local.
ReadHistory read_history(const std::filesystem::path& csv, const std::filesystem::path& lines,
                         std::int64_t step);

/// Keeps a file that another is to replace: links it (moves what is no file) as NAME.kept, or NAME.kept.2 and so on.
/// Returns that path; "" where there is no such file. @throws Error naming both.
std::filesystem::path keep_beside(const std::filesystem::path& path);

}  // namespace riesz
