// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/session.h"

#include <filesystem>
#include <iostream>
#include <optional>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/io/atomic_file.h"
#include "riesz/train/alike.h"
#include "riesz/train/chart.h"
#include "riesz/train/progress.h"
#include "riesz/train/schema.h"
#include "riesz/train/summary.h"
#include "riesz/train/svg.h"
#include "riesz/train/terminal_picture.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

/// What rank 0 shows and writes as training goes on.
class Recorder {
 public:
  explicit Recorder(const Config& config)
      : folder_(made(config.output.folder)),
        csv_(folder_ / "loss.csv"),
        progress_(std::cout, choose_screen(config.output.progress), config.train.steps) {
    write_file(folder_ / "config.toml", to_toml(config));
  }

  void step(const Row& row) {
    csv_.append(row);
    progress_.update(row);
  }

  void finish(const Config& config, const Trained& trained, const std::vector<std::string>& task_lines,
              const std::string& summary) {
    progress_.finish();
    const Chart chart = loss_chart("Loss of " + folder_.filename().string(), trained.rows);
    std::string report;
    for (const std::string& line : task_lines) report += line + "\n";
    report += "\n" + terminal_picture(chart) + "\n" + summary;
    write_file(folder_ / "loss.svg", svg(chart));
    write_file(folder_ / "report.txt", report);
    std::cout << "\n" << report << line_of_files(config) << std::flush;
  }

 private:
  static fs::path made(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    RIESZ_CHECK(!error, "cannot make the folder ", folder, ": ", error.message());
    return folder;
  }

  static std::string line_of_files(const Config& config) {
    return "files         " + config.output.folder + "/: loss.svg, loss.csv, report.txt, config.toml\n";
  }

  fs::path folder_;
  CsvFile csv_;
  Progress progress_;
};

void introduce(const Config& config, const LanguageModel& model, const Task& task,
               const std::vector<RankMemory>& memory) {
  std::cout << model.module.describe() << "\n"
            << task.describe() << "\n"
            << config.train.steps << " steps on " << to_string(model.tokens.partition())
            << "\neach rank will hold\n"
            << memory_table(memory, false) << std::flush;
}

}  // namespace

void run_session(const Config& config, const LanguageModel& model, const Task& task, const OnStep& also) {
  const Partition& mesh = model.tokens.partition();
  const bool first = mesh.rank() == 0;
  if (first) check_folder_can_be_written(config.output.folder);
  check_alike(mesh, "the configuration", digest(to_toml(config)));
  check_alike(mesh, "the data", task.digest());

  TrainingStep step(config, model);
  const std::vector<RankMemory> will_hold = collect_memory(mesh, step.memory());
  std::optional<Recorder> recorder;
  if (first) {
    introduce(config, model, task, will_hold);
    recorder.emplace(config);
  }
  const Trained trained = train(config.train, step, model, task, [&](const Row& row) {
    if (recorder) recorder->step(row);
    if (also) also(row);
  });
  const auto predict = [&](const at::Tensor& ids) { return next_token(model, ids); };
  const std::vector<std::string> lines = task.report(predict, *trained.rows.back().held_out_loss);
  const std::string text = summary(config, model, task, trained, collect_traffic(mesh, trained.traffic),
                                   collect_memory(mesh, step.memory()));
  if (recorder) recorder->finish(config, trained, lines, text);
}

}  // namespace riesz
