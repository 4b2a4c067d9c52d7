// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/save.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <optional>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/agree.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/plan.h"
#include "riesz/io/file.h"
#include "riesz/partition/vector.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

/// By vector, what this worker has of it.
using Parts = std::map<SavedKey, std::vector<at::Tensor>>;

Parts parts_of(const State& state) {
  Parts parts;
  for (const StateView& view : state) parts[{view.name, view.key}].push_back(view.tensor.detach());
  return parts;
}

/// What this worker writes of a vector. Collective over P.
at::Tensor brought(const Partition& P, const WrittenVector& vector, const Parts& parts) {
  std::vector<at::Tensor> mine;
  const auto found = parts.find(vector.key);
  if (found != parts.end()) {
    for (const at::Tensor& part : found->second) mine.push_back(part.cpu());
  }
  if (mine.empty()) mine.push_back(at::empty({0}, vector.type));
  const at::Tensor local = mine.size() == 1 ? mine.front() : at::cat(mine);
  const std::int64_t n = vector.written.extent();
  const Space X = Space(P, {n}).sharded(0, "world", Split::covering(n, vector.held));
  const Space Y = Space(P, {n}).sharded(0, "world", vector.written);
  return between(X, Y)(Vector(X, local)).local();
}

/// The first worker makes the folder, its texts and the files, of their sizes, with their heads.
void begin(const WholeFolder& folder, const CheckpointPlan& plan,
           const std::map<std::string, std::string>& texts) {
  std::int64_t bytes = plan.bytes();
  for (const auto& [name, text] : texts) bytes += static_cast<std::int64_t>(text.size());
  folder.make();
  check_room(folder.unfinished(), bytes);
  for (const auto* some : {&texts, &plan.indices}) {
    for (const auto& [name, text] : *some) {
      const File file = File::made(folder.unfinished() / name);
      file.write(text);
      file.sync();
    }
  }
  for (const WrittenFile& written : plan.files) {
    const File file = File::made(folder.unfinished() / written.name);
    file.write(header_bytes(written.header));
    file.resize(written.header.file_bytes());
  }
}

/// Writes what this worker is to write. It takes its part in all moves whatever happens to its own bytes.
void write_all(const Partition& P, const fs::path& folder, const CheckpointPlan& plan, const Parts& parts) {
  std::vector<File> files;
  for (const WrittenFile& written : plan.files) files.push_back(File::to_change(folder / written.name));
  std::optional<Error> failed;
  for (const WrittenVector& vector : plan.vectors) {
    if (vector.written.extent() == 0) continue;
    const at::Tensor mine = brought(P, vector, parts).contiguous();
    if (failed || mine.numel() == 0) continue;
    const std::int64_t first = vector.written.held(P.rank()).front().begin;
    const auto width = static_cast<std::int64_t>(mine.element_size());
    try {
      files[vector.file].write(vector.place.begin + first * width, mine.const_data_ptr(),
                               static_cast<std::int64_t>(mine.nbytes()));
    } catch (const Error& error) {
      failed = error;
    }
  }
  if (failed) throw Error(*failed);
  for (const File& file : files) file.sync();
}

}  // namespace

void save_checkpoint(const fs::path& folder, const Partition& P, const CheckpointContents& contents,
                     const SaveOptions& options) {
  if (!P.active()) return;
  const at::NoGradGuard no_gradient;
  const Partition writers = P.grid({{"world", P.size()}});
  const CheckpointPlan plan = plan_checkpoint(writers, contents.state, contents.shapes, options.file_bytes);
  const WholeFolder whole(folder);
  const bool first = writers.rank() == 0;
  try {
    all_or_none(writers, [&] {
      if (first) begin(whole, plan, contents.texts);
    });
    all_or_none(writers, [&] { write_all(writers, whole.unfinished(), plan, parts_of(contents.state)); });
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
