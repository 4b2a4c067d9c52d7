// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/field_moments.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/escaped.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/partition/split.h"
#include "riesz/train/data/field_files.h"

namespace riesz {
namespace {

/// The number of numbers, their mean, and the sum of their squared distances from it.
struct Sums {
  double count = 0, mean = 0, squares = 0;

  /// With other numbers (Chan, Golub and LeVeque, 1979).
  void add(const Sums& other) {
    if (other.count == 0) return;
    const double all = count + other.count, apart = other.mean - mean;
    squares += other.squares + apart * apart * count * other.count / all;
    mean += apart * other.count / all;
    count = all;
  }
};

/// One after another, so that the bits do not depend on the number of threads. The mean is summed from the
/// first number on, so that equal numbers have squares of 0 and not of rounding.
Sums sums_of(const at::Tensor& numbers) {
  const at::Tensor all = numbers.to(at::kDouble).contiguous();
  const double* const x = all.const_data_ptr<double>();
  const std::int64_t n = all.numel();
  Sums sums{static_cast<double>(n)};
  for (std::int64_t i = 0; i < n; ++i) sums.mean += x[i] - x[0];
  sums.mean = x[0] + sums.mean / sums.count;
  for (std::int64_t i = 0; i < n; ++i) sums.squares += (x[i] - sums.mean) * (x[i] - sums.mean);
  return sums;
}

Partition job() { return Partition::world().grid({{"all", Runtime::size()}}); }

/// Calls f with the bands of a channel of a row: some lines of at most a million numbers.
void for_each_band(const StoredArray& fields, std::int64_t row, std::int64_t channel,
                   const std::function<void(std::int64_t line, const at::Tensor& band)>& f) {
  constexpr std::int64_t kAtOnce = std::int64_t{1} << 20;
  const std::int64_t height = fields.shape()[fields.shape().size() - 2], width = fields.shape().back();
  const std::int64_t lines = std::max<std::int64_t>(1, kAtOnce / std::max<std::int64_t>(1, width));
  for (std::int64_t line = 0; line < height; line += lines)
    f(line,
      read_fields(
          fields,
          {{row, row + 1}, {channel, channel + 1}, {line, std::min(height, line + lines)}, {0, width}}));
}

}  // namespace

FieldMoments::FieldMoments(const StoredArray& fields, at::ScalarType as) {
  const Partition all = job();
  const std::int64_t rows = fields.shape().front(), channels = channels_of(fields);
  const Interval mine = Split::balanced(rows, Runtime::size())[Runtime::rank()];
  const at::Tensor here = at::zeros({mine.size(), channels, 3}, at::kDouble);
  all_or_none(all, [&] {
    double* to = here.mutable_data_ptr<double>();
    for (std::int64_t row = mine.begin; row < mine.end; ++row) {
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        Sums sums;
        for_each_band(fields, row, channel,
                      [&](std::int64_t, const at::Tensor& band) { sums.add(sums_of(band.to(as))); });
        RIESZ_CHECK(std::isfinite(sums.squares), "row ", row, " of ", in_quotes(fields.place()),
                    " has a number that is not finite, or too great, in channel ", channel,
                    "; correct it, or leave the row out of the file");
        *to++ = sums.count, *to++ = sums.mean, *to++ = sums.squares;
      }
    }
  });
  const Space X = Space(all, {rows, channels, 3}).sharded(0, "all");
  table_ = full_tensor(Vector(X, here)).contiguous();
}

std::vector<Moments> FieldMoments::over(const Interval& rows) const {
  std::vector<Sums> of_channels(static_cast<std::size_t>(table_.size(1)));
  const double* from = table_.const_data_ptr<double>() + rows.begin * table_.size(1) * 3;
  for (std::int64_t row = rows.begin; row < rows.end; ++row)
    for (Sums& sums : of_channels) sums.add({from[0], from[1], from[2]}), from += 3;
  std::vector<Moments> moments;
  for (const Sums& sums : of_channels) moments.push_back({sums.mean, sums.squares / sums.count});
  return moments;
}

double FieldMoments::squares(std::int64_t row) const {
  const double* from = table_.const_data_ptr<double>() + row * table_.size(1) * 3;
  double all = 0;
  for (std::int64_t channel = 0; channel < table_.size(1); ++channel, from += 3)
    all += from[2] + from[0] * from[1] * from[1];
  return all;
}

void check_labels(const StoredArray& masks, std::int64_t labels) {
  const std::int64_t rows = masks.shape().front(), width = masks.shape().back();
  const Interval mine = Split::balanced(rows, Runtime::size())[Runtime::rank()];
  all_or_none(job(), [&] {
    for (std::int64_t row = mine.begin; row < mine.end; ++row) {
      for_each_band(masks, row, 0, [&](std::int64_t line, const at::Tensor& band) {
        const at::Tensor numbers = band.to(at::kLong).contiguous();
        const std::int64_t* const label = numbers.const_data_ptr<std::int64_t>();
        for (std::int64_t i = 0; i < numbers.numel(); ++i)
          RIESZ_CHECK(label[i] >= 0 && label[i] < labels, "row ", row, " of ", in_quotes(masks.place()),
                      " has the label ", label[i], " at line ", line + i / width, ", column ", i % width,
                      "; labels go from 0 to ", labels - 1, ", as data.labels = ", labels,
                      " says: set that, or correct the masks");
      });
    }
  });
}

}  // namespace riesz
