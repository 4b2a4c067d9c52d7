// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/show_texts.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "riesz/app/jobs/print_result.h"
#include "riesz/io/escaped.h"

namespace riesz::app {
ShowTexts::ShowTexts(std::vector<std::string> prompts, bool json, bool here)
    : prompts_(std::move(prompts)),
      json_(json),
      here_(here),
      waiting_(prompts_.size()),
      ended_(prompts_.size()) {
  begin();
}

void ShowTexts::begin() {
  if (!here_ || json_ || prompts_.size() == 1) return;
  print_part((shown_ > 0 ? "\n" : "") + in_whole_quotes(prompts_[shown_]) + ":\n");
}

void ShowTexts::add(std::size_t text, const std::string& more) {
  if (!here_ || json_ || more.empty()) return;
  if (text == shown_)
    print_part(more);
  else
    waiting_[text] += more;
}

void ShowTexts::end(std::size_t text, const std::string& whole, const std::string& why) {
  if (!here_) return;
  ended_[text] = true;
  if (json_) {
    const nlohmann::ordered_json line = {{"prompt", prompts_[text]}, {"text", whole}, {"ended", why}};
    waiting_[text] = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  if (json_ && text == shown_) print_part(waiting_[text]);
  while (shown_ < prompts_.size() && ended_[shown_]) {
    if (!json_) print_part("\n");
    if (++shown_ == prompts_.size()) return;
    begin();
    print_part(waiting_[shown_]);
  }
}

}  // namespace riesz::app
