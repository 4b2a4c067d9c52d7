// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/cells_task.h"

#include <ATen/ops/argmax.h>

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/data/pixel_report.h"
#include "riesz/train/report/field_picture.h"

namespace riesz {
namespace {

/// Of a box of rows: the numbers of its images.
std::vector<std::int64_t> some_of(const std::vector<std::int64_t>& numbers, const Interval& rows) {
  return {numbers.begin() + rows.begin, numbers.begin() + rows.end};
}

}  // namespace

CellsTask::CellsTask(const Config& config)
    : rows_(config),
      images_(config.model.image, static_cast<std::uint64_t>(config.data.seed)),
      digest_(
          riesz::digest(concat("cells by ", config.data.seed, " of ", images_.size(), ", ", rows_.text()))) {}

DataUnit CellsTask::unit() const {
  return {.row = "image", .counted = "pixel", .each = images_.size() * images_.size()};
}

Batch CellsTask::batch_of(const std::vector<std::int64_t>& numbers) const {
  const auto rows = static_cast<std::int64_t>(numbers.size());
  const std::int64_t n = images_.size();
  const auto pixels = [images = images_, numbers](const Box& box) {
    return images.pixels(some_of(numbers, box[0]), box[2], box[3]);
  };
  const auto label_maps = [images = images_, numbers](const Box& box) {
    return images.label_maps(some_of(numbers, box[0]), box[1], box[2]);
  };
  return {Rows({rows, 1, n, n}, at::kFloat, pixels), Rows({rows, n, n}, at::kLong, label_maps)};
}

Batch CellsTask::batch(std::int64_t first, std::int64_t rows) const {
  return batch_of(rows_.trained(first, rows));
}

Batch CellsTask::held_out(std::int64_t begin, std::int64_t end) const {
  return batch_of(RowNumbers::of_held_out(begin, end));
}

std::string CellsTask::describe() const {
  return concat("images of cells, ", images_.size(), " x ", images_.size(), " pixels of ", vocabulary(),
                " labels: ", rows_.text());
}

std::vector<std::string> CellsTask::report(const Predict&, const HeldOut& held_out) const {
  return overlap_lines(held_out, label_names());
}

at::Tensor CellsTask::picture(const Predict& model, std::int64_t rows) const {
  const Batch shown = held_out(0, std::min(rows, held_out()));
  const at::Tensor found = at::argmax(model(shown.inputs), -1), grey = shown.inputs.whole();
  return rows_of_pictures({in_grey(grey.select(1, 0)), of_labels(shown.targets.whole()), of_labels(found)});
}

}  // namespace riesz
