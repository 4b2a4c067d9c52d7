// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/added_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "riesz/nn/kernels/in_threads.h"
#include "riesz/nn/vectors/lanes.h"

namespace riesz::detail {
namespace {

constexpr std::int64_t kAddedByThread = std::int64_t{1}
                                        << 14;  // elements that are worth a thread of their own

/// What numbers are added in.
template <typename Number>
using Added = std::conditional_t<sizeof(Number) == 2, float, Number>;

/// The places of ids in their order, and where those of each id begin: a counting sort, which is stable.
struct Uses {
  Uses(const std::int64_t* ids, std::int64_t count, std::int64_t rows)
      : begin(static_cast<std::size_t>(rows) + 1), place(static_cast<std::size_t>(count)) {
    for (std::int64_t i = 0; i < count; ++i) ++begin[static_cast<std::size_t>(ids[i]) + 1];
    for (std::size_t row = 1; row < begin.size(); ++row) begin[row] += begin[row - 1];
    std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(ids[i])]++);
      place[at] = i;
    }
  }

  std::vector<std::int64_t> begin, place;
};

/// x's rows of some places, to add to one row.
template <typename Number>
struct RowSum {
  const Number* x;
  const std::int64_t* place;
  std::int64_t count, width;
  Added<Number>* sum;  // room for a row
  Number* y;
};

template <typename Number>
inline __attribute__((always_inline)) void add_up(const RowSum<Number>& row) {
  Added<Number>* const sum = row.sum;
  const std::int64_t width = row.width;
  for (std::int64_t j = 0; j < width; ++j) sum[j] = 0;
  for (std::int64_t i = 0; i < row.count; ++i) {
    const Number* const x = row.x + row.place[i] * width;
#pragma GCC ivdep
    for (std::int64_t j = 0; j < width; ++j) sum[j] += static_cast<Added<Number>>(x[j]);
  }
#pragma GCC ivdep
  for (std::int64_t j = 0; j < width; ++j) row.y[j] = static_cast<Number>(sum[j]);
}

template <typename Number>
void add_plainly(const RowSum<Number>& row) {
  add_up(row);
}
template <typename Number>
RIESZ_FOR_AVX2 void add_by_avx2(const RowSum<Number>& row) {
  add_up(row);
}
template <typename Number>
RIESZ_FOR_AVX512 void add_by_avx512(const RowSum<Number>& row) {
  add_up(row);
}

template <typename Number>
void add_all(const at::Tensor& x, const at::Tensor& ids, const at::Tensor& y) {
  static const auto kernel =
      for_this_processor(add_plainly<Number>, add_by_avx2<Number>, add_by_avx512<Number>);
  const std::int64_t count = ids.numel(), width = y.size(1);
  const std::int64_t* const id = ids.const_data_ptr<std::int64_t>();
  const Number* const from = x.const_data_ptr<Number>();
  Number* const to = y.mutable_data_ptr<Number>();
  const Uses uses(id, count, y.size(0));
  const std::int64_t at_once = std::max<std::int64_t>(1, kAddedByThread / width);
  in_threads((count + at_once - 1) / at_once, [&](std::int64_t first, std::int64_t last) {
    std::vector<Added<Number>> sum(static_cast<std::size_t>(width));
    for (std::int64_t use = first * at_once; use < std::min(count, last * at_once);) {
      const std::int64_t row = id[uses.place[static_cast<std::size_t>(use)]];
      const std::int64_t begin = uses.begin[static_cast<std::size_t>(row)],
                         end = uses.begin[static_cast<std::size_t>(row) + 1];
      if (begin == use)  // else the thread before adds it
        kernel({from, uses.place.data() + begin, end - begin, width, sum.data(), to + row * width});
      use = end;
    }
  });
}

}  // namespace

bool has_rows_to_add(const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  const bool number = type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
  return x.is_cpu() && number && !x.is_neg();
}

void add_rows(const at::Tensor& x, const at::Tensor& ids, const at::Tensor& y) {
  if (x.numel() == 0) return;
  switch (x.scalar_type()) {
    case at::kDouble:
      return add_all<double>(x, ids, y);
    case at::kHalf:
      return add_all<at::Half>(x, ids, y);
    case at::kBFloat16:
      return add_all<at::BFloat16>(x, ids, y);
    default:
      return add_all<float>(x, ids, y);
  }
}

}  // namespace riesz::detail
