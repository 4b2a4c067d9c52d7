// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace riesz::app {

/// Writes texts that come at once on standard output, one after another: the first that has not ended as it
/// comes, those behind it when it has. Of several, each below a line with its prompt; or each as a line of
/// JSON when it has ended.
class ShowTexts {
 public:
  /// Nothing is written unless `here`.
  ShowTexts(std::vector<std::string> prompts, bool json, bool here);

  void add(std::size_t text, const std::string& more);
  /// No more comes. `whole`: all of it.
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
