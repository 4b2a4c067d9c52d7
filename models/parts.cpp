// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/parts.h"

#include <ATen/ops/arange.h>

#include <algorithm>

namespace riesz::models {

void check_sizes(const std::string& model, const std::vector<Size>& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += concat(text.empty() ? "" : ", ", name, " ", size);
  RIESZ_CHECK(std::all_of(sizes.begin(), sizes.end(), [](const Size& size) { return size.second >= 1; }),
              model, ": ", text, "; each is at least 1");
}

std::int64_t width_of_heads(const std::string& model, std::int64_t width, std::int64_t heads,
                            const std::string& remedy) {
  RIESZ_CHECK(width % heads == 0, model, ": a width of ", width, " is no multiple of ", heads, " heads",
              remedy);
  return width / heads;
}

void check_context(const std::string& model, const Vector& ids, std::int64_t context) {
  const std::int64_t all = first_position() + ids.space().shape().back();
  RIESZ_CHECK(all <= context, model, ": a sequence of ", all, " tokens is longer than the context of ",
              context);
}

Vector positions_of(const Vector& ids, const Space& X) {
  const std::int64_t first = first_position(), T = ids.space().shape().back();
  return distribute(X.with_shape({T}), at::arange(first, first + T, ids.local().options()));
}

Vector last_position(const Vector& x, const Space& Y) {
  const std::vector<std::int64_t>& shape = x.space().shape();
  if (shape[1] == 1) return x;
  return to_space(reshape(select(x, 1, shape[1] - 1), {shape[0], 1, shape[2]}), Y);
}

}  // namespace riesz::models
