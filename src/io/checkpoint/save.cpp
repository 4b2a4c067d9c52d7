// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/save.h"

#include <ATen/core/grad_mode.h>

#include <functional>
#include <optional>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/pieces.h"
#include "riesz/io/checkpoint/plan.h"
#include "riesz/io/checkpoint/unfinished_files.h"
#include "riesz/primitives/all_max.h"

namespace riesz {
namespace {

/// Writes what this worker is to write. It takes its part in all moves whatever happens to its own bytes.
void write_all(const Partition& P, const std::filesystem::path& folder, const CheckpointPlan& plan,
               const CheckpointContents& contents) {
  std::optional<Error> failed;
  const auto attempt = [&](const std::function<void()>& part) {
    try {
      if (!failed) part();
    } catch (const Error& error) {
      failed = error;
    }
  };
  std::optional<UnfinishedFiles> files;
  attempt([&] {
    files.emplace(folder, plan);
    if (P.rank() == 0) files->write_rest(plan, contents.texts);
  });
  for_each_piece(P, plan, contents.state, [&](const Piece& piece) { attempt([&] { files->write(piece); }); });
  attempt([&] { files->sync(); });
  if (failed) throw Error(*failed);
}

}  // namespace

void save_checkpoint(const std::filesystem::path& folder, const Partition& P,
                     const CheckpointContents& contents, const SaveOptions& options) {
  if (!P.active()) return;
  const at::NoGradGuard no_gradient;
  const Partition writers = P.grid({{"world", P.size()}});
  const CheckpointPlan plan = plan_checkpoint(writers, contents.state, contents.shapes, options.file_bytes);
  WholeFolder whole(folder, options.replaces);
  const bool first = writers.rank() == 0;
  try {
    all_or_none(writers, [&] {
      if (first) begin_folder(whole, plan, contents.texts);
    });
    all_or_none(writers, [&] { write_all(writers, whole.unfinished(), plan, contents); });
    all_or_none(writers, [&] {
      if (first) whole.finish();
    });
  } catch (const Error&) {
    if (first) whole.drop();
    wait_for_all(writers);  // nobody sees what is left of it
    throw;
  }
}

}  // namespace riesz
