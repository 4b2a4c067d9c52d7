// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace riesz::app {

/// The words of `riesz tokenize`.
struct TokenizeWords {
  std::vector<std::string> files;
  std::string folder;
  std::string tokenizer;                   ///< its file or folder; "": one is learnt
  std::optional<std::int64_t> vocabulary;  ///< the tokens of one that is learnt
  std::string documents = "auto";
  std::string member = "text";
};

/// Tokenizes on this job's workers. The first shows its progress on standard error, unless `quiet`. Returns
/// what was made, as text. Collective over the job. @throws Error on bad input, as `riesz::tokenize` does.
std::string tokenize_report(const TokenizeWords& words, bool quiet = false);

}  // namespace riesz::app
