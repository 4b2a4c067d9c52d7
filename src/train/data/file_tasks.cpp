// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/file_tasks.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/simulation.h"
#include "riesz/io/escaped.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/data/field_moments.h"
#include "riesz/train/data/pixel_report.h"
#include "riesz/train/report/field_picture.h"

namespace riesz {
namespace {

/// What the file has of a box of (rows, channels, height, width), and behind its channels the rows and
/// columns of points, from 0 to 1.
at::Tensor with_coordinates_of(const at::Tensor& fields, const Box& box, std::int64_t channels,
                               std::int64_t size) {
  const at::Tensor all = at::empty({box[0].size(), box[1].size(), box[2].size(), box[3].size()}, at::kFloat);
  const std::int64_t stored = fields.size(1);
  if (stored > 0) all.narrow(1, 0, stored).copy_(fields);
  const auto centres = [size](const Interval& of) {
    return at::arange(of.begin, of.end, at::kDouble).add(0.5).div(static_cast<double>(size));
  };
  for (std::int64_t c = std::max(channels, box[1].begin); c < box[1].end; ++c)
    all.select(1, c - box[1].begin).copy_(c == channels ? centres(box[2]).unsqueeze(1) : centres(box[3]));
  return all;
}

/// A relative error is divided by its target's norm, whose square is an fp32 number.
void check_norms(const FieldMoments& targets, const StoredArray& file, double scale) {
  if (Simulation::running()) return;  // other workers' rows are zeros
  using Fp32 = std::numeric_limits<float>;
  for (std::int64_t row = 0; row < file.shape().front(); ++row) {
    const double squares = targets.squares(row) / (scale * scale);
    RIESZ_CHECK(squares >= Fp32::min() && squares <= Fp32::max(), "row ", row, " of ",
                in_quotes(file.place()), " has numbers whose squares sum to ", squares,
                ", and its relative error is divided by the root of that in fp32; leave the row out of both "
                "files");
  }
}

/// Looks at all rows of both files.
Normalisation normalisation_of(const Config& config, const FieldFiles& files, const Interval& training) {
  Normalisation of;
  const bool by_moments = config.data.normalise != "none";
  const at::ScalarType as = by_moments ? at::kDouble : at::kFloat;
  const FieldMoments inputs(files.inputs, as);
  for (const Moments& channel : by_moments ? inputs.over(training) : std::vector<Moments>()) {
    of.mean.push_back(channel.mean);
    of.deviation.push_back(channel.variance > 0 ? std::sqrt(channel.variance) : 1);
  }
  if (config.data.task == "masks") return of;
  const FieldMoments targets(files.targets, as);
  double squares = 0;
  const std::vector<Moments> wanted = targets.over(training);
  for (const Moments& channel : wanted) squares += channel.variance + channel.mean * channel.mean;
  if (by_moments && squares > 0) of.scale = std::sqrt(squares / static_cast<double>(wanted.size()));
  check_norms(targets, files.targets, of.scale);
  return of;
}

}  // namespace

FileTask::FileTask(const Config& config, bool coordinates)
    : files_(open_field_files(config)),
      rows_(config, files_.rows(), concat(files_.rows(), " rows of ", in_quotes(files_.inputs.place()))),
      normalisation_(normalisation_of(config, files_, rows_.training())),
      coordinates_(coordinates),
      digest_(riesz::digest(
          concat(files_.inputs.digest(), " ", files_.targets.digest(), " ", to_text(normalisation_)))) {}

std::string FileTask::describe() const {
  return concat(unit().row, "s in ", in_quotes(files_.inputs.place()), ", ", size(), " x ", size(), ": ",
                rows_.text());
}

std::map<std::string, std::string> FileTask::files() const {
  return {{Normalisation::file, to_text(normalisation_)}};
}

Batch FileTask::batch_of(const std::vector<std::int64_t>& numbers) const {
  return {inputs_of(numbers), targets_of(numbers)};
}

Rows FileTask::inputs_of(std::vector<std::int64_t> numbers) const {
  const std::int64_t channels = channels_of(files_.inputs), n = size();
  const auto rows = static_cast<std::int64_t>(numbers.size());
  const auto read = [file = files_.inputs, of = normalisation_, channels, n,
                     numbers = std::move(numbers)](const Box& box) {
    const Interval stored{std::min(channels, box[1].begin), std::min(channels, box[1].end)};
    const at::Tensor all =
        at::empty({box[0].size(), stored.size(), box[2].size(), box[3].size()}, at::kFloat);
    for (std::int64_t i = 0; stored.size() > 0 && i < box[0].size(); ++i) {
      const std::int64_t number = numbers[static_cast<std::size_t>(box[0].begin + i)];
      const at::Tensor row = read_fields(file, {{number, number + 1}, stored, box[2], box[3]});
      all.narrow(0, i, 1).copy_(of.inputs(row, stored));
    }
    return stored.size() == box[1].size() ? all : with_coordinates_of(all, box, channels, n);
  };
  return {{rows, channels + (coordinates_ ? 2 : 0), n, n}, at::kFloat, read};
}

MasksTask::MasksTask(const Config& config) : FileTask(config, false), labels_(config.data.labels) {
  check_labels(files_.targets, labels_);
}

std::vector<std::string> MasksTask::label_names() const {
  std::vector<std::string> names;
  for (std::int64_t label = 0; label < labels_; ++label) names.push_back(std::to_string(label));
  return names;
}

Rows MasksTask::targets_of(std::vector<std::int64_t> numbers) const {
  const auto rows = static_cast<std::int64_t>(numbers.size());
  const auto read = [file = files_.targets, numbers = std::move(numbers)](const Box& box) {
    const at::Tensor all = at::empty({box[0].size(), box[1].size(), box[2].size()}, at::kLong);
    for (std::int64_t i = 0; i < box[0].size(); ++i) {
      const std::int64_t number = numbers[static_cast<std::size_t>(box[0].begin + i)];
      all.narrow(0, i, 1).copy_(file.read({{number, number + 1}, box[1], box[2]}));
    }
    return all;
  };
  return {{rows, size(), size()}, at::kLong, read};
}

std::vector<std::string> MasksTask::report(const Predict&, const HeldOut& held_out) const {
  return overlap_lines(held_out, label_names());
}

at::Tensor MasksTask::picture(const Predict& model, std::int64_t rows) const {
  const Batch shown = held_out(0, std::min(rows, held_out()));
  const at::Tensor found = at::argmax(model(shown.inputs), -1), seen = shown.inputs.whole();
  return rows_of_pictures({in_grey(seen.mean(1)), of_labels(shown.targets.whole()), of_labels(found)});
}

FieldsTask::FieldsTask(const Config& config) : FileTask(config, true) {}

Rows FieldsTask::targets_of(std::vector<std::int64_t> numbers) const {
  const auto rows = static_cast<std::int64_t>(numbers.size());
  const auto read = [file = files_.targets, scale = normalisation_.scale,
                     numbers = std::move(numbers)](const Box& box) {
    const at::Tensor all =
        at::empty({box[0].size(), box[1].size(), box[2].size(), box[3].size()}, at::kFloat);
    for (std::int64_t i = 0; i < box[0].size(); ++i) {
      const std::int64_t number = numbers[static_cast<std::size_t>(box[0].begin + i)];
      const at::Tensor row = read_fields(file, {{number, number + 1}, box[1], box[2], box[3]});
      all.narrow(0, i, 1).copy_(scale == 1 ? row : row.to(at::kDouble).div(scale));
    }
    return all;
  };
  return {{rows, vocabulary(), size(), size()}, at::kFloat, read};
}

std::vector<std::string> FieldsTask::report(const Predict&, const HeldOut& held_out) const {
  char text[80];
  std::snprintf(text, sizeof text, "relative error of held-out fields: %.2f %%", 100 * held_out.loss);
  return {text};
}

at::Tensor FieldsTask::picture(const Predict& model, std::int64_t rows) const {
  const Batch shown = held_out(0, std::min(rows, held_out()));
  const at::Tensor wanted = shown.targets.whole().select(1, 0),
                   found = model(shown.inputs).select(1, 0).to(wanted.scalar_type()),
                   given = shown.inputs.whole().select(1, 0);
  return rows_of_pictures({in_grey(given), in_colours(wanted, wanted), in_colours(found, wanted)});
}

}  // namespace riesz
