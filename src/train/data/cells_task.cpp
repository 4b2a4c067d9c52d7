// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/cells_task.h"

#include <ATen/ops/argmax.h>

#include <algorithm>
#include <cstdio>

#include "riesz/comm/error.h"
#include "riesz/train/report/field_picture.h"

namespace riesz {
namespace {

/// Of a box of rows: the numbers of its images.
std::vector<std::int64_t> some_of(const std::vector<std::int64_t>& numbers, const Interval& rows) {
  return {numbers.begin() + rows.begin, numbers.begin() + rows.end};
}

}  // namespace

CellsTask::CellsTask(const Config& config)
    : rows_(config), images_(config.model.image, static_cast<std::uint64_t>(config.data.seed)) {}

DataUnit CellsTask::unit() const {
  return {.row = "image", .counted = "pixel", .each = images_.size() * images_.size()};
}

Batch CellsTask::batch_of(const std::vector<std::int64_t>& numbers) const {
  const auto rows = static_cast<std::int64_t>(numbers.size());
  const std::int64_t n = images_.size();
  const auto pixels = [images = images_, numbers](const Box& box) {
    return images.pixels(some_of(numbers, box[0]), box[2], box[3]);
  };
  const auto truth = [images = images_, numbers](const Box& box) {
    return images.truth(some_of(numbers, box[0]), box[1], box[2]);
  };
  return {Rows({rows, 1, n, n}, at::kFloat, pixels), Rows({rows, n, n}, at::kLong, truth)};
}

Batch CellsTask::batch(std::int64_t first, std::int64_t rows) const {
  return batch_of(rows_.trained(first, rows));
}

Batch CellsTask::held_out(std::int64_t begin, std::int64_t end) const {
  return batch_of(MadeRows::of_held_out(begin, end));
}

std::string CellsTask::describe() const {
  return concat("images of cells, ", images_.size(), " x ", images_.size(), " pixels of ", vocabulary(),
                " labels: ", rows_.text());
}

std::vector<std::string> CellsTask::report(const Predict&, const HeldOut& held_out) const {
  const auto text = [](double overlap) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.4f", overlap);
    return std::string(digits);
  };
  std::vector<std::string> lines{"held-out intersection over union, mean of labels: " +
                                 text(held_out.overlap().value_or(0))};
  for (std::size_t label = 0; label < held_out.overlaps.size(); ++label)
    lines.push_back(concat("  ", CellImages::names[label], "  ", text(held_out.overlaps[label])));
  return lines;
}

at::Tensor CellsTask::picture(const Predict& model, std::int64_t rows) const {
  const Batch shown = held_out(0, std::min(rows, held_out()));
  const at::Tensor found = at::argmax(model(shown.inputs), -1), grey = shown.inputs.whole();
  return rows_of_pictures({in_grey(grey.select(1, 0)), of_labels(shown.targets.whole()), of_labels(found)});
}

}  // namespace riesz
