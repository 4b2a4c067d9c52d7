// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/adder.h"

#include <ATen/ops/empty.h>

#include "riesz/comm/error.h"

namespace riesz {

Adder::Adder(int digits) : digits_(digits), numbers_(1) {
  RIESZ_CHECK(digits >= 1 && digits <= 3, "Adder: numbers of ", digits, " digits; it may be 1 to 3");
  for (int i = 0; i < digits; ++i) numbers_ *= 10;
}

at::Tensor Adder::sequences(const std::vector<std::int64_t>& sums) const {
  const std::int64_t length = question() + answer();
  const at::Tensor ids = at::empty({static_cast<std::int64_t>(sums.size()), length}, at::kLong);
  std::int64_t* row = ids.mutable_data_ptr<std::int64_t>();
  for (const std::int64_t sum : sums) {
    const auto write = [&](std::int64_t number, std::int64_t from, std::int64_t step, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i, number /= 10) row[from + step * i] = number % 10;
    };
    write(first(sum), digits_ - 1, -1, digits_);
    write(second(sum), question() - 1, -1, digits_);
    write(first(sum) + second(sum), question(), +1, answer());
    row += length;
  }
  return ids;
}

std::int64_t Adder::number(const std::vector<std::int64_t>& reversed) {
  std::int64_t value = 0;
  for (auto digit = reversed.rbegin(); digit != reversed.rend(); ++digit) value = 10 * value + *digit;
  return value;
}

}  // namespace riesz
