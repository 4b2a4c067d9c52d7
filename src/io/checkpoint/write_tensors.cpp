// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/write_tensors.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <tuple>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/plan.h"
#include "riesz/io/checkpoint/unfinished_files.h"
#include "riesz/io/checkpoint/wait_for_writers.h"
#include "riesz/io/escaped.h"
#include "riesz/primitives/all_max.h"

namespace riesz {
namespace {

constexpr std::int64_t kAtOnce = std::int64_t{1} << 20;  // bytes

/// The elements of a vector whose first byte is in the interval of all data; `begin` is where it lies there.
Interval elements_in(const Interval& bytes, std::int64_t begin, std::int64_t width, std::int64_t n) {
  const auto first_at = [&](std::int64_t byte) {
    return std::clamp((byte - begin + width - 1) / width, std::int64_t{0}, n);
  };
  return bytes.end <= begin ? Interval{0, 0} : Interval{first_at(bytes.begin), first_at(bytes.end)};
}

/// Reads and writes part of a vector, piece by piece.
void write_part(UnfinishedFiles& files, const WrittenVector& vector, const ReadableTensor& tensor,
                const Interval& part) {
  const auto width = static_cast<std::int64_t>(c10::elementSize(vector.type));
  for (std::int64_t begin = part.begin; begin < part.end; begin += kAtOnce / width) {
    const Interval piece{begin, std::min(part.end, begin + kAtOnce / width)};
    const at::Tensor values = at::empty({piece.size()}, vector.type);
    tensor.read(piece, values);
    files.write({vector.file, vector.place.begin + begin * width, values});
  }
}

/// This worker's 1/p of all data, in the order of the files.
void write_share(const Partition& P, const std::filesystem::path& folder, const CheckpointPlan& plan,
                 const std::map<std::string, const ReadableTensor*>& tensors,
                 const std::map<std::string, std::string>& texts, WriteProgress& progress) {
  UnfinishedFiles files(folder, plan, progress);
  if (P.rank() == 0) files.write_rest(plan, texts);
  std::vector<const WrittenVector*> order;
  std::int64_t all = 0;
  for (const WrittenVector& vector : plan.vectors) order.push_back(&vector), all += vector.place.size();
  std::sort(order.begin(), order.end(), [](const WrittenVector* a, const WrittenVector* b) {
    return std::tie(a->file, a->place.begin) < std::tie(b->file, b->place.begin);
  });
  const auto share = [&](std::int64_t r) { return all / P.size() * r + all % P.size() * r / P.size(); };
  const Interval mine{share(P.rank()), share(P.rank() + 1)};
  std::int64_t at = 0;
  for (const WrittenVector* vector : order) {
    const auto width = static_cast<std::int64_t>(c10::elementSize(vector->type));
    const Interval part = elements_in(mine, at, width, vector->place.size() / width);
    write_part(files, *vector, *tensors.at(vector->key.first), part);
    at += vector->place.size();
  }
  files.sync();
}

}  // namespace

void write_tensors(const std::filesystem::path& folder, const Partition& P,
                   const std::vector<ReadableTensor>& tensors,
                   const std::map<std::string, std::string>& texts, const SaveOptions& options) {
  if (!P.active()) return;
  const at::NoGradGuard no_gradient;
  std::vector<StoredTensor> stored;
  std::map<std::string, const ReadableTensor*> by_name;
  for (const ReadableTensor& tensor : tensors) {
    stored.push_back({tensor.name, tensor.type, tensor.shape, {}});
    by_name[tensor.name] = &tensor;
  }
  const CheckpointPlan plan = plan_tensors(stored, options.file_bytes);
  WholeFolder whole(folder, options.replaces);
  const bool first = P.rank() == 0;
  try {
    all_or_none(P, [&] {
      if (first) begin_folder(whole, plan, texts);
    });
    WriteProgress progress;
    write_together(P, in_quotes(whole.unfinished().string()), progress,
                   [&] { write_share(P, whole.unfinished(), plan, by_name, texts, progress); });
    all_or_none(P, [&] {
      if (first) whole.finish();
    });
  } catch (const Error&) {
    if (first) whole.drop();
    wait_for_all(P);  // nobody sees what is left of it
    throw;
  }
}

}  // namespace riesz
