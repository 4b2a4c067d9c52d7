// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/results.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ostream>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "riesz/comm/error.h"
#include "riesz/comm/start/launcher.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/images/encode_png.h"
#include "riesz/io/tokenizer/unicode.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/report/chart.h"
#include "riesz/train/report/event_file.h"
#include "riesz/train/report/read_history.h"
#include "riesz/train/report/svg.h"
#include "riesz/train/report/terminal_picture.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCsv = "loss.csv";
constexpr const char* kLines = "metrics.jsonl";
constexpr const char* kPictures = "pictures.png";

fs::path made(const fs::path& folder) {
  make_folders(folder);
  return folder;
}

/// With paths that mean the same from any folder.
Config anywhere(Config config) {
  const auto absolute = [](const std::string& path) { return absolute_path(path).string(); };
  for (const Key& key : schema()) {
    if (!key.path) continue;
    std::string& value = std::get<std::string& (*)(Config&)>(key.field)(config);
    value = with_each_path(key, value, [&](const std::string& path) {
      return key.or_name && !is_there(path) ? path : absolute(path);
    });
  }
  for (std::string* folder : {&config.output.folder, &config.checkpoint.folder}) {
    if (!folder->empty()) *folder = absolute(*folder);
  }
  return config;
}

}  // namespace

std::string saved_config(const Config& config) {
  Config saved = anywhere(config);
  for (const Key& key : schema()) {
    const auto* const field = std::get_if<std::string& (*)(Config&)>(&key.field);
    if (field == nullptr) continue;
    const std::string& text = (*field)(saved);
    RIESZ_CHECK(utf8_prefix(text) == text.size(), key.name, " is ", in_quotes(text),
                ", which is no UTF-8 text, so no config.toml can say it; rename the folder or the file");
  }
  return to_toml(saved);
}

Results::Results(const Config& config, const DataUnit& unit, std::ostream& report, std::ostream& notes)
    : config_(config),
      unit_(unit),
      folder_(made(config.output.folder)),
      lock_(folder_),
      report_(report),
      notes_(notes),
      progress_(notes, choose_screen(config.output.progress), config.train.steps, unit.counted) {}

void Results::begin() {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double before = earlier_.empty() ? 0 : earlier_.back().seconds;
  std::vector<Rows> all;
  all.push_back({kCsv, csv_format(), {}});
  all.push_back({kLines, json_lines(), {}});
  all.push_back({"events.out.tfevents.0.riesz", event_file(now - before), {}});
  for (const Rows& rows : all) {
    // Not the events: TensorBoard would read both.
    const bool keeps = damaged_ && std::string_view(rows.name).find("tfevents") == std::string_view::npos;
    const fs::path kept = keeps ? keep_beside(folder_ / rows.name) : fs::path();
    if (!kept.empty())
      say(concat(in_quotes((folder_ / rows.name).string()), " is written anew; as it was, it is kept as ",
                 in_quotes(kept.string())));
  }
  for (Rows& rows : all) rows.file.emplace(folder_ / rows.name, rows.format, earlier_);
  write_file(folder_ / "config.toml", saved_config(config_));
  std::error_code error;
  for (const char* earlier : {"loss.svg", "report.txt", kPictures}) fs::remove(folder_ / earlier, error);
  if (config_.train.profile.empty()) fs::remove(folder_ / "trace.json", error);
  histories_ = std::move(all);
}

const std::vector<Row>& Results::resume(std::int64_t step) {
  ReadHistory history = read_history(folder_ / kCsv, folder_ / kLines, step);
  for (const std::string& note : history.notes) say(note);
  damaged_ = history.damaged;
  earlier_ = std::move(history.rows);
  return earlier_;
}

void Results::step(const Row& row) {
  const bool first = histories_.empty();
  if (first) begin();
  for (Rows& rows : histories_) {
    try {
      if (rows.file) rows.file->append(row);
    } catch (const Error& error) {
      if (first) throw;
      rows.file.reset();
      say(concat(error.what(), "; training goes on, and all rows are written again at its end"));
    }
  }
  progress_.update(row);
}

void Results::say(const std::string& line) {
  progress_.finish();
  notes_ << line + "\n" << std::flush;
}

void Results::print(const std::string& text) {
  if (unprinted_ != 0) return;
  errno = EIO;  // where the stream fails without the system
  if (!(report_ << text << std::flush)) unprinted_ = errno;
}

void Results::conclude(const std::string& line) {
  print(line + "\n");
  RIESZ_CHECK(unprinted_ == 0, "cannot write to standard output: ", std::strerror(unprinted_),
              "; the report is in ", in_quotes((folder_ / "report.txt").string()));
}

void Results::finish(const std::vector<Row>& rows, const std::vector<std::string>& task_lines,
                     const std::string& summary, const at::Tensor& picture) {
  progress_.finish();
  // A launcher hands on both outputs, each when it comes to it: the report is to come behind the notes.
  if (launched_rank()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const Chart chart = loss_chart("Loss of " + escaped(folder_.filename().string()), rows,
                                 unit_.loss.empty() ? "loss (nats)" : unit_.loss);
  std::string report;
  for (const std::string& line : task_lines) report += line + "\n";
  report += "\n" + terminal_picture(chart) + "\n" + summary;
  print("\n" + report);
  write_file(folder_ / "report.txt", report);
  for (const Rows& lost : histories_) {
    if (!lost.file) write_file(folder_ / lost.name, lost.format.of(rows));
  }
  write_file(folder_ / "loss.svg", svg(chart));
  if (picture.defined()) write_file(folder_ / kPictures, encode_png(picture));
  print("files         " + escaped(config_.output.folder) + "/: loss.svg, report.txt, config.toml" +
        (picture.defined() ? concat(", ", kPictures) : "") +
        "; of all steps loss.csv, metrics.jsonl, "
        "events.out.tfevents.0.riesz\n");
}

}  // namespace riesz
