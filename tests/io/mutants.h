// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "riesz/io/draws.h"

namespace riesz::testing {

/// A format of files, of which damaged ones are read.
struct MutatedFormat {
  std::string ending;  ///< such as ".gguf"
  std::function<std::string(Draws& draws)> original;
  std::vector<std::string> words;  ///< what files are made of, and what readers have stumbled over
  std::size_t seldom = 0;          ///< as many first bytes are changed more seldom than the rest
  /// Sets right what would else hide all other damage, such as a length.
  std::function<void(std::string& bytes, Draws& draws)> repair = {};
  /// Reads a file of so many bytes whole. What of it is wrong that was not refused; "" if nothing is.
  /// @throws Error where the file is refused.
  std::function<std::string(const std::filesystem::path& path, std::int64_t bytes)> read;
};

/// The program PROGRAM COUNT [FIRST]: makes damaged files of the format, as many as are asked for, each
/// determined by its number. Each is read whole or refused by an Error that names the file, and nothing else
/// happens; under the sanitizers (preset asan) that says that no file makes the reader go beyond memory.
/// Returns 1, naming the mutant, where that is not so.
int read_mutants(const MutatedFormat& format, int argc, char** argv);

}  // namespace riesz::testing
