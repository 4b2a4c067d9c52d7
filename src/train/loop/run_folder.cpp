// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/run_folder.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/loop/training_state.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfiguration = "config.toml";
constexpr const char* kResults[] = {"loss.csv",     "metrics.jsonl", "events.out.tfevents.0.riesz",
                                    "loss.svg",     "report.txt",    "trace.json",
                                    "pictures.png", kConfiguration};

/// Where the training's config.toml has its checkpoints go; the folder itself where it says nothing.
fs::path checkpoints_of(const fs::path& folder) try {
  std::error_code error;
  if (!fs::is_regular_file(folder / kConfiguration, error)) return folder;
  const std::string elsewhere = load_config(folder / kConfiguration, {}).checkpoint.folder;
  return elsewhere.empty() ? folder : fs::path(elsewhere);
} catch (const Error&) {
  return folder;
}

/// The best step, as a checkpoint's state says it; 0 where it says none.
std::int64_t best_step(const fs::path& checkpoint) try {
  const auto best = state_in(checkpoint).best;
  return best ? best->step : 0;
} catch (const Error&) {
  return 0;
}

void move_into(const fs::path& from, const fs::path& folder) {
  std::error_code error;
  fs::rename(from, folder / from.filename(), error);
  RIESZ_CHECK(!error, "cannot move ", in_quotes(from.string()), ", of an earlier training, into ",
              in_quotes(folder.string()), ": ", error.message(), "; move it away, or choose another folder");
}

}  // namespace

std::optional<ModelCheckpoint> model_checkpoint_in(const fs::path& folder) {
  auto all = checkpoints_in(folder);
  if (all.empty()) all = checkpoints_in(checkpoints_of(folder));
  if (all.empty()) return std::nullopt;
  const auto& [last, path] = all.back();
  const std::int64_t best = best_step(path);
  for (const auto& [step, there] : all) {
    if (step == best) return ModelCheckpoint{there, step, true, last};
  }
  return ModelCheckpoint{path, last, false, last};
}

fs::path set_aside(const fs::path& folder) {
  const auto all = checkpoints_in(folder);
  if (all.empty()) return {};
  std::error_code error;
  int number = 1;
  while (fs::exists(folder / concat("earlier-", number), error)) ++number;
  const fs::path aside = folder / concat("earlier-", number);
  make_folders(aside);
  for (const auto& [step, path] : all) move_into(path, aside);
  for (const char* name : kResults) {
    if (fs::exists(folder / name, error)) move_into(folder / name, aside);
  }
  return aside;
}

std::string what_is_in(const fs::path& folder) {
  constexpr std::size_t kShown = 8;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return "";
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (const std::string name = entry.path().filename().string(); !name.starts_with("."))
      names.push_back(name);
  }
  if (names.empty()) return "; the folder is empty";
  std::sort(names.begin(), names.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (text.empty() ? "; it has " : ", ") + escaped(names[i]);
  return names.size() > kShown ? concat(text, " and ", names.size() - kShown, " more") : text;
}

}  // namespace riesz
