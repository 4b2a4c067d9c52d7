// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace riesz::app {

/// Writes several texts that come at the same time on standard output, one after another. A text is shown as
/// it comes, once all before it have ended. It stands below a line with its prompt, unless it is the only
/// one. As JSON each text is one line, written when it has ended.
class ShowTexts {
 public:
  /// Nothing is written unless `here`.
  ShowTexts(std::vector<std::string> prompts, bool json, bool here);

  /// More of a text, by its number.
  void add(std::size_t text, const std::string& more);
  /// The text has ended. `whole`: all of it; `why`: for the line of JSON.
  void end(std::size_t text, const std::string& whole, const std::string& why);

 private:
  void begin();

  std::vector<std::string> prompts_;
  bool json_;
  bool here_;
  std::vector<std::string> waiting_;
  std::vector<bool> ended_;
  std::size_t shown_ = 0;
};

}  // namespace riesz::app
