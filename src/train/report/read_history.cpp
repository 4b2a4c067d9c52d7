// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/read_history.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/strict_json.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamed = 5;  // more of a kind are counted

/// All of a file; nothing where there is none. One that cannot be read, such as a folder or a pipe, is noted.
std::string text_of(const fs::path& path, ReadHistory& history) {
  try {
    return is_there(path) ? bytes_of_file(path, std::numeric_limits<std::int64_t>::max()) : "";
  } catch (const Error& error) {
    history.notes.push_back(concat(error.what(), "; the record goes on without it"));
    history.damaged = true;
    return "";
  }
}

/// Without a last one that is cut off.
std::vector<std::string> lines_of(const fs::path& path, ReadHistory& history) {
  const std::string text = text_of(path, history);
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(text.substr(at, end - at));
    if (lines.back().ends_with('\r')) lines.back().pop_back();  // an editor's
  }
  return lines;
}

/// A row, and the line that it was read from.
struct Read {
  Row row;
  std::size_t line;
};

/// As many as there can be whose steps rise. Of such chains the one whose rows come latest in the file.
std::vector<Read> rising(const std::vector<Read>& all) {
  std::vector<std::size_t> ends;  // by length, the chain's end with the lowest step
  std::vector<std::size_t> before(all.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto place = std::lower_bound(ends.begin(), ends.end(), i, [&](std::size_t a, std::size_t b) {
      return all[a].row.step < all[b].row.step;
    });
    if (place != ends.begin()) before[i] = *std::prev(place);
    if (place == ends.end())
      ends.push_back(i);
    else
      *place = i;
  }
  std::vector<Read> chain;
  for (std::size_t i = ends.empty() ? all.size() : ends.back(); i != all.size(); i = before[i])
    chain.push_back(all[i]);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

/// A line of metrics.jsonl; what JSON could not say of it is infinite.
std::optional<Row> row_of_json(const std::string& line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto number = [&](const char* name) -> std::optional<double> {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  };
  const auto step = json.find("step");
  const auto loss = number("loss"), rate = number("rate"), seconds = number("seconds");
  const auto learning_rate = number("learning_rate");
  if (step == json.end() || !step->is_number_integer() || !loss || !learning_rate || !rate || !seconds)
    return std::nullopt;
  const double norm = number("gradient_norm").value_or(std::numeric_limits<double>::infinity());
  Row row{step->get<std::int64_t>(), *loss, number("held_out_loss"), *learning_rate, norm, *rate, *seconds};
  row.overlap = number("held_out_iou");
  const auto load = number("expert_load"), dropped = number("dropped"), entropy = number("gate_entropy");
  if (load && dropped && entropy) row.experts = ExpertRow{*load, *dropped, *entropy};
  return row;
}

/// "3", "3 to 5", "3 to 5 and 9".
std::string text_of_steps(const std::vector<std::int64_t>& steps) {
  std::vector<std::string> runs;
  for (std::size_t i = 0, end = 0; i < steps.size(); i = end) {
    for (end = i + 1; end < steps.size() && steps[end] == steps[end - 1] + 1;) ++end;
    runs.push_back(end - i == 1 ? concat(steps[i]) : concat(steps[i], " to ", steps[end - 1]));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, runs.size()); ++i)
    text += concat(i == 0 ? "" : i + 1 == runs.size() ? " and " : ", ", runs[i]);
  return runs.size() > kNamed ? concat(text, " and others, ", steps.size(), " steps in all") : text;
}

/// Notes of one kind, of which the first few are said.
void add(ReadHistory& history, const std::vector<std::string>& notes, const fs::path& path) {
  for (std::size_t i = 0; i < std::min(kNamed, notes.size()); ++i) history.notes.push_back(notes[i]);
  if (notes.size() > kNamed)
    history.notes.push_back(
        concat(in_quotes(path.string()), ": ", notes.size() - kNamed, " more such lines"));
  if (!notes.empty()) history.damaged = true;
}

/// The rows of the lines; what is none is noted.
std::vector<Read> rows_of(const fs::path& path, std::int64_t step, ReadHistory& history) {
  std::vector<Read> all;
  std::vector<std::string> notes;
  const std::vector<std::string> lines = lines_of(path, history);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 0 && lines[i] + "\n" == csv_header()) continue;
    const std::optional<Row> row = row_of_csv(lines[i]);
    if (!row || row->step < 1 || i == 0)
      notes.push_back(concat(in_quotes(path.string()), ", line ", i + 1,
                             i == 0 ? ": it is not the heading, " : ": it is no row: ",
                             in_quotes(i == 0 ? csv_header() : lines[i])));
    if (row && row->step >= 1 && row->step <= step) all.push_back({*row, i + 1});
  }
  add(history, notes, path);
  return all;
}

/// Adds what metrics.jsonl alone has: rows of steps that have none, and what rows say of experts and of
/// overlaps. Says which rows it adds, and which it has not.
void fill_gaps(const fs::path& csv, const fs::path& lines, std::int64_t step, ReadHistory& history) {
  std::map<std::int64_t, Row> rows;
  for (const Row& row : history.rows) rows[row.step] = row;
  const bool complete = static_cast<std::int64_t>(rows.size()) == step;
  ReadHistory unneeded;  // notes on a file without which no row is missing
  std::vector<std::int64_t> filled, missing;
  for (const std::string& line : lines_of(lines, complete ? unneeded : history)) {
    const std::optional<Row> row = row_of_json(line);
    if (!row || row->step < 1 || row->step > step) continue;
    const auto [at, added] = rows.emplace(row->step, *row);
    at->second.experts = row->experts;
    at->second.overlap = row->overlap;
    if (added) filled.push_back(row->step);
  }
  for (std::int64_t each = 1; each <= step; ++each) {
    if (!rows.contains(each)) missing.push_back(each);
  }
  std::sort(filled.begin(), filled.end());
  const std::string name = in_quotes(csv.string());
  if (!filled.empty())
    history.notes.push_back(concat(name, " has no row of step ", text_of_steps(filled), "; taken from ",
                                   in_quotes(lines.string())));
  if (!missing.empty())
    history.notes.push_back(
        concat(name, " has no row of step ", text_of_steps(missing), "; the record goes on without"));
  history.rows.clear();
  for (const auto& [each, row] : rows) history.rows.push_back(row);
}

}  // namespace

ReadHistory read_history(const fs::path& csv, const fs::path& lines, std::int64_t step) {
  ReadHistory history;
  const std::vector<Read> all = rows_of(csv, step, history);
  const std::vector<Read> chain = rising(all);
  std::vector<std::string> notes;
  auto next = chain.begin();
  for (const Read& read : all) {
    if (next != chain.end() && next->line == read.line)
      ++next;
    else
      notes.push_back(concat(in_quotes(csv.string()), ", line ", read.line, ": a row of step ", read.row.step,
                             " is out of order, or there twice; it is left out"));
  }
  add(history, notes, csv);
  for (const Read& read : chain) history.rows.push_back(read.row);
  fill_gaps(csv, lines, step, history);
  return history;
}

fs::path keep_beside(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  fs::path kept = path;
  kept += ".kept";
  for (int number = 2; fs::exists(kept, error); ++number) {
    kept = path;
    kept += concat(".kept.", number);
  }
  if (fs::is_regular_file(path, error)) {
    fs::create_hard_link(path, kept, error);
  } else {  // a pipe too: what is written there next would go into it
    fs::rename(path, kept, error);
  }
  if (error && fs::is_regular_file(path))
    fs::copy_file(path, kept, error);  // a file system without such links
  RIESZ_CHECK(!error, "cannot keep ", in_quotes(path.string()), " as ", in_quotes(kept.string()), ": ",
              error.message());
  return kept;
}

}  // namespace riesz
