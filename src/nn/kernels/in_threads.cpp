// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/kernels/in_threads.h"

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

#include "riesz/comm/without_values.h"

namespace riesz::detail {

// at::parallel_for is compiled into its caller, with OpenMP or without. LibTorch's iterators have it inside.
void in_threads(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& part) {
  if (!has_values()) return;
  if (count <= 1 || at::get_num_threads() == 1 || at::in_parallel_region()) {
    if (count > 0) part(0, count);
    return;
  }
  const at::Tensor numbered = at::empty({count}, at::kByte);
  const char* const first = static_cast<const char*>(numbered.const_data_ptr());
  at::TensorIterator all = at::TensorIteratorConfig().add_const_input(numbered).build();
  all.for_each(
      [&](char** data, const std::int64_t*, std::int64_t n, std::int64_t rows) {
        const std::int64_t begin = data[0] - first;
        part(begin, begin + n * rows);
      },
      1);
}

}  // namespace riesz::detail
