// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/darcy_task.h"

#include <ATen/ops/stack.h>

#include <algorithm>
#include <cstdio>

#include "riesz/comm/error.h"
#include "riesz/io/darcy_flow.h"
#include "riesz/io/host_copy.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/report/field_picture.h"

namespace riesz {
namespace {

/// A box of some rows of a tensor.
Rows rows_in(const at::Tensor& all, const std::vector<std::int64_t>& numbers) {
  std::vector<std::int64_t> shape = all.sizes().vec();
  shape.front() = static_cast<std::int64_t>(numbers.size());
  const auto make = [all, numbers](const Box& box) {
    const at::Tensor part = narrow(all, {{0, all.size(0)}, box[1], box[2], box[3]});
    std::vector<at::Tensor> rows;
    for (std::int64_t i = box[0].begin; i < box[0].end; ++i)
      rows.push_back(part.select(0, numbers[static_cast<std::size_t>(i)]));
    return at::stack(rows);
  };
  return {shape, all.scalar_type(), make};
}

}  // namespace

DarcyTask::DarcyTask(const Config& config)
    : rows_(config),
      digest_(riesz::digest(
          concat("Darcy flow by ", config.data.seed, " of ", config.model.image, ", ", rows_.text()))) {
  const std::int64_t n = config.model.image, count = config.data.count;
  const DarcyFlow flow(n, static_cast<std::uint64_t>(config.data.seed));
  const auto made = [&](std::int64_t channels, const auto& of_coefficients) {
    return host_copy(Partition::world(), {count, channels, n, n}, at::kFloat,
                     [&](const Interval& rows, const at::Tensor& piece) {
                       if (rows.size() > 0)
                         piece.copy_(of_coefficients(flow.coefficients(rows.begin, rows.size())));
                     });
  };
  inputs_ = made(3, darcy_inputs);
  targets_ = made(1, darcy_targets);
}

std::int64_t DarcyTask::bytes(const Config& config) {
  constexpr std::int64_t kNumbers = 4;  // of a grid point, in fp32
  return 4 * kNumbers * config.data.count * config.model.image * config.model.image;
}

Batch DarcyTask::batch_of(const std::vector<std::int64_t>& numbers) const {
  return {rows_in(inputs_, numbers), rows_in(targets_, numbers)};
}

Batch DarcyTask::batch(std::int64_t first, std::int64_t rows) const {
  return batch_of(rows_.trained(first, rows));
}

Batch DarcyTask::held_out(std::int64_t begin, std::int64_t end) const {
  return batch_of(RowNumbers::of_held_out(begin, end));
}

std::string DarcyTask::describe() const {
  return concat("Darcy flow on ", targets_.size(-1), " x ", targets_.size(-1),
                " grid points: ", rows_.text());
}

std::vector<std::string> DarcyTask::report(const Predict&, const HeldOut& held_out) const {
  char text[80];
  std::snprintf(text, sizeof text, "relative error of held-out solutions: %.2f %%", 100 * held_out.loss);
  return {text};
}

at::Tensor DarcyTask::picture(const Predict& model, std::int64_t rows) const {
  const Batch shown = held_out(0, std::min(rows, held_out()));
  const at::Tensor wanted = shown.targets.whole().select(1, 0),
                   found = model(shown.inputs).select(1, 0).to(wanted.scalar_type()),
                   given = shown.inputs.whole().select(1, 0);
  return rows_of_pictures({in_grey(given), in_colours(wanted, wanted), in_colours(found, wanted)});
}

}  // namespace riesz
