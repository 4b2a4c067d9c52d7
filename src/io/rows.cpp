// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/rows.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace riesz {

Rows::Rows(at::Tensor whole)
    : shape_(whole.sizes().vec()), type_(whole.scalar_type()), whole_(std::move(whole)) {}

Rows::Rows(std::vector<std::int64_t> shape, at::ScalarType type, Make make)
    : shape_(std::move(shape)), type_(type), make_(std::move(make)) {}

std::int64_t Rows::numel() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape_) product *= extent;
  return product;
}

at::Tensor Rows::whole() const {
  if (!is_made()) return whole_;
  Box all;
  for (const std::int64_t extent : shape_) all.push_back({0, extent});
  return make_(all);
}

Rows Rows::part(const Interval& rows) const {
  if (!is_made()) return whole_.narrow(0, rows.begin, rows.size());
  std::vector<std::int64_t> shape = shape_;
  shape.front() = rows.size();
  return {std::move(shape), type_, [make = make_, rows](Box box) {
            box.front() = {rows.begin + box.front().begin, rows.begin + box.front().end};
            return make(box);
          }};
}

Rows Rows::to(at::ScalarType type) const {
  if (!is_made()) return whole_.to(type);
  return {shape_, type, [make = make_, type](const Box& box) { return make(box).to(type); }};
}

Vector Rows::in(const Space& X) const {
  const Space S = X.with_shape(shape_);
  if (!is_made()) return distribute(S, whole_);
  const std::vector<std::int64_t>& here = S.local_shape();
  const Partition& P = S.partition();
  const bool none = !P.active() || std::find(here.begin(), here.end(), 0) != here.end();
  return {S, none ? at::empty(here, type_) : make_(S.box(P.rank()))};
}

}  // namespace riesz
