// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

constexpr std::array<std::string_view, 7> kCommunication = {"SEND_F",  "RECV_F",  "SEND_B",     "RECV_B",
                                                            "UNSHARD", "RESHARD", "REDUCE_GRAD"};
constexpr std::string_view kOverlap = "OVERLAP_F_B";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t end; (end = text.find(at)) != std::string_view::npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

/// The number that the text begins with, which is taken away.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Reads one text, and knows where it is.
class Reading {
 public:
  explicit Reading(const std::string& source) : source_(source) {}

  Schedule table(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    for (const std::string_view line : split(text, '\n')) read_line(line);
    find_chunks();
    return std::move(table_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw_error(concat(source_, ", line ", line_, ", cell ", cell_, ": ", parts...));
  }

  void read_line(std::string_view line) {
    ++line_;
    cell_ = 0;
    std::vector<Action>& row = table_.rows.emplace_back();
    for (const std::string_view cell : split(line, ',')) {
      ++cell_;
      for (const Action& action : actions_of(trimmed(cell))) row.push_back(action);
    }
    while (!row.empty() && row.back().pass == Pass::idle) row.pop_back();
    if (row.empty()) refuse("a worker without an action; take the line out, or give it a chunk");
    for (const Action& action : row) note(action);
  }

  std::vector<Action> actions_of(std::string_view cell) const {
    if (cell.empty()) return {{}};
    if (cell.front() == '(' && cell.ends_with(kOverlap)) {
      std::vector<Action> both;
      const std::string_view inside = cell.substr(1, cell.size() - kOverlap.size() - 1);
      if (!inside.ends_with(')')) refuse_cell(cell);
      for (const std::string_view part : split(inside.substr(0, inside.size() - 1), ';'))
        both.push_back(action_of(trimmed(part)));
      return both;
    }
    if (is_communication(cell)) return {};
    return {action_of(cell)};
  }

  static bool is_communication(std::string_view cell) {
    if (!take_number(cell)) return false;
    return std::any_of(kCommunication.begin(), kCommunication.end(), [&](std::string_view word) {
      if (!cell.starts_with(word)) return false;
      std::string_view rest = cell.substr(word.size());
      return rest.empty() || (take_number(rest) && rest.empty());
    });
  }

  Action action_of(const std::string_view cell) const {
    std::string_view rest = cell;
    Action action;
    const std::optional<int> chunk = take_number(rest);
    if (!chunk || rest.empty()) refuse_cell(cell);
    for (const Pass pass :
         {Pass::forward, Pass::backward, Pass::backward_inputs, Pass::backward_weights, Pass::recompute}) {
      if (rest.front() == letter(pass)) action.pass = pass;
    }
    rest.remove_prefix(1);
    const std::optional<int> micro_batch = take_number(rest);
    if (action.pass == Pass::idle || !micro_batch) refuse_cell(cell);
    action.chunk = *chunk;
    action.micro_batch = *micro_batch;
    if (rest.starts_with('@')) {
      rest.remove_prefix(1);
      const std::optional<int> version = take_number(rest);
      if (!version) refuse_cell(cell);
      action.version = *version;
    }
    if (rest.starts_with('+')) {
      rest.remove_prefix(1);
      action.update = true;
    }
    if (!rest.empty()) refuse_cell(cell);
    return action;
  }

  [[noreturn]] void refuse_cell(std::string_view cell) const {
    refuse(in_quotes(cell),
           " is no action; write chunk, letter and micro-batch, such as 2F3, with F, B, I, W or R, "
           "then @ and the version of the weights and + for an update where there are any; or nothing, "
           "for an idle slot");
  }

  /// Where a chunk lies, and how many micro-batches there are.
  void note(const Action& action) {
    if (action.pass == Pass::idle) return;
    ++actions_;
    chunks_ = std::max(chunks_, action.chunk);
    micro_batches_ = std::max(micro_batches_, action.micro_batch);
    seen_.emplace_back(action.chunk, line_ - 1);
  }

  void find_chunks() {
    RIESZ_CHECK(chunks_ < actions_ && micro_batches_ < actions_, source_, ": it names chunk ", chunks_,
                " and micro-batch ", micro_batches_, ", but has ", actions_,
                " actions; chunks and micro-batches are counted from 0");
    table_.micro_batches = micro_batches_ + 1;
    table_.worker_of.assign(static_cast<std::size_t>(chunks_) + 1, -1);
    for (const auto& [chunk, worker] : seen_) {
      if (table_.worker_of[chunk] < 0) table_.worker_of[chunk] = worker;
    }
    const auto none = std::find(table_.worker_of.begin(), table_.worker_of.end(), -1);
    RIESZ_CHECK(none == table_.worker_of.end(), source_, ": it names chunk ", chunks_, " but not chunk ",
                none - table_.worker_of.begin(), "; every chunk of the model lies on some line");
  }

  const std::string& source_;
  int line_ = 0;
  int cell_ = 0;
  int chunks_ = -1;
  int micro_batches_ = -1;
  int actions_ = 0;
  std::vector<std::pair<int, int>> seen_;  // (chunk, worker)
  Schedule table_;
};

}  // namespace

std::string to_csv(const Schedule& schedule) {
  std::string text;
  for (const std::vector<Action>& row : schedule.rows) {
    for (std::size_t slot = 0; slot < row.size(); ++slot)
      text += (slot == 0 ? "" : ",") + to_string(row[slot]);
    text += '\n';
  }
  return text;
}

Schedule from_csv(const std::string& text, const std::string& source) { return Reading(source).table(text); }

}  // namespace riesz
