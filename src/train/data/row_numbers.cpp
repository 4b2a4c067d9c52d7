// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/row_numbers.h"

#include <cmath>
#include <numeric>

#include "riesz/comm/error.h"
#include "riesz/io/tokens/seeded_permutation.h"
#include "riesz/train/config/number_text.h"
#include "riesz/train/config/schema.h"

namespace riesz {

RowNumbers::RowNumbers(const Config& config, std::int64_t count, const std::string& of)
    : count_(count),
      held_out_(std::llround(config.data.held_out * static_cast<double>(count))),
      seed_(static_cast<std::uint64_t>(config.train.seed)) {
  RIESZ_CHECK(held_out_ >= 1 && held_out_ < count_, value_and_origin(config, "data.held_out"), " keeps ",
              held_out_, " of ", of, " out of training; at least one must be held out, and one trained on");
}

RowNumbers::RowNumbers(const Config& config)
    : RowNumbers(config, config.data.count, value_and_origin(config, "data.count")) {}

std::vector<std::int64_t> RowNumbers::trained(std::int64_t first, std::int64_t rows) const {
  const std::int64_t n = count_ - held_out_;
  std::vector<std::int64_t> numbers;
  for (std::int64_t place = first; place < first + rows; ++place) {
    const SeededPermutation order(n, seed_, "data", static_cast<std::uint64_t>(place / n));
    numbers.push_back(held_out_ + order.at(place % n));
  }
  return numbers;
}

std::vector<std::int64_t> RowNumbers::of_held_out(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

std::string RowNumbers::text() const {
  return concat(grouped(count_ - held_out_), " to train on, ", grouped(held_out_), " held out");
}

}  // namespace riesz
