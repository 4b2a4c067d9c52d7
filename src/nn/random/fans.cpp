// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/fans.h"

#include <c10/util/ArrayRef.h>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/spec.h"

namespace riesz {

Fans fans_of(const std::string& spec, const std::vector<std::int64_t>& shape) {
  const Indices indices = parse_indices(spec);
  RIESZ_CHECK(indices[1].size() == shape.size(), "fans_of: the weight of ", spec, " has ", indices[1].size(),
              " dims, unlike ", c10::IntArrayRef(shape));
  Fans fans{1, 1};
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const char index = indices[1][dim];
    if (indices[2].find(index) == std::string::npos) fans.in *= shape[dim];
    if (indices[0].find(index) == std::string::npos) fans.out *= shape[dim];
  }
  return fans;
}

Fans fans_of(const std::vector<std::int64_t>& shape) {
  RIESZ_CHECK(shape.size() >= 2, "fans_of: a weight of (out, in, ...) has two dims or more, unlike ",
              c10::IntArrayRef(shape), "; give the fan as a number");
  Fans fans{shape[1], shape[0]};
  for (std::size_t dim = 2; dim < shape.size(); ++dim) {
    fans.in *= shape[dim];
    fans.out *= shape[dim];
  }
  return fans;
}

}  // namespace riesz
