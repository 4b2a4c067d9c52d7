// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "riesz/train/report/history.h"

namespace riesz {

/// What was read of a loss.csv, which is a record: what is wrong with it stops nobody, and is said.
struct ReadHistory {
  std::vector<Row> rows;           ///< at most one of each step, in order
  std::vector<std::string> notes;  ///< what is wrong, a line each, with the file's name and the line's number
  bool damaged = false;            ///< has it lines that are no rows, or rows in disorder?
};

/// The rows up to this step of a history that a training has written, and its notes: lines that are no rows;
/// rows that are there twice or out of order; steps without a row. A last line that is cut off is none: the
/// job was killed as it wrote it. Rows that are missing are read from `lines`, which has the same rows as
/// `json_lines` writes them. Local.
ReadHistory read_history(const std::filesystem::path& csv, const std::filesystem::path& lines,
                         std::int64_t step);

/// Keeps a file beside itself, as NAME.kept, or NAME.kept.2 and so on: what replaces the file by another
/// leaves this one. Returns its path; "" where there is no such file. @throws Error naming both.
std::filesystem::path keep_beside(const std::filesystem::path& path);

}  // namespace riesz
