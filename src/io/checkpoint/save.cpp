// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/save.h"

#include <ATen/core/grad_mode.h>

#include <optional>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/pieces.h"
#include "riesz/io/checkpoint/pieces_to_write.h"
#include "riesz/io/checkpoint/plan.h"
#include "riesz/io/checkpoint/unfinished_files.h"
#include "riesz/io/checkpoint/wait_for_writers.h"
#include "riesz/io/escaped.h"
#include "riesz/primitives/all_max.h"

namespace riesz {
namespace {

/// Writes what this worker is to write: some vectors are brought, then their pieces are written, again and
/// again. Where a worker cannot, all leave together.
void write_all(const Partition& P, const std::filesystem::path& folder, const CheckpointPlan& plan,
               const CheckpointContents& contents) {
  const std::string what = in_quotes(folder.string());
  WriteProgress progress;
  std::optional<UnfinishedFiles> files;
  write_together(P, what, progress, [&] {
    files.emplace(folder, plan, progress);
    if (P.rank() == 0) files->write_rest(plan, contents.texts);
  });
  PiecesToWrite pieces(P, what, *files, progress);
  for_each_piece(
      P, plan, contents.state, [&](const Piece& piece) { pieces.take(piece); },
      [&](const WrittenVector& vector) { pieces.after(vector); });
  pieces.write();
  write_together(P, what, progress, [&] { files->sync(); });
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
    write_all(writers, whole.unfinished(), plan, contents);
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
