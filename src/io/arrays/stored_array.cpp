// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/arrays/stored_array.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/io/arrays/array_source.h"
#include "riesz/io/arrays/hdf5_array.h"
#include "riesz/io/arrays/npy_array.h"
#include "riesz/io/escaped.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {
namespace {

std::unique_ptr<ArraySource> opened(const std::string& place) {
  for (const char* const ending : {".h5:", ".hdf5:"}) {
    const std::size_t at = place.find(ending);
    if (at == std::string::npos) continue;
    const std::size_t colon = place.find(':', at);
    return open_hdf5(place.substr(0, colon), place.substr(colon + 1));
  }
  RIESZ_CHECK(!place.ends_with(".h5") && !place.ends_with(".hdf5"), "cannot read ", in_quotes(place),
              ": a file of HDF5 has several arrays; name one of them behind a colon: ",
              in_quotes(place + ":DATASET"));
  return open_npy(place);
}

}  // namespace

StoredArray::StoredArray(const std::string& place) : place_(place), source_(opened(place)) {}

const std::vector<std::int64_t>& StoredArray::shape() const { return source_->shape; }
at::ScalarType StoredArray::type() const { return source_->type; }

at::Tensor StoredArray::read(const Box& box) const {
  std::vector<std::int64_t> extents;
  RIESZ_CHECK(box.size() == shape().size(), "StoredArray: a box of ", box.size(), " dims of ",
              in_quotes(place_), ", which has ", shape().size());
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    RIESZ_CHECK(box[dim].begin >= 0 && box[dim].end <= shape()[dim], "StoredArray: ", to_string(box[dim]),
                " of dim ", dim, " of ", in_quotes(place_), ", which has ", shape()[dim]);
    extents.push_back(box[dim].size());
  }
  at::Tensor elements = at::empty(extents, at::TensorOptions(type()));
  if (elements.numel() > 0) source_->read(box, elements.mutable_data_ptr());
  return elements;
}

std::uint64_t StoredArray::digest() const {
  constexpr std::int64_t kRows = 64;
  std::int64_t rows = 1;
  for (std::size_t dim = 0; dim + 1 < shape().size(); ++dim) rows *= shape()[dim];
  std::uint64_t all = riesz::digest(concat(type(), " ", at::IntArrayRef(shape())));
  const std::int64_t some = shape().empty() ? 0 : std::min(rows, kRows);
  for (std::int64_t i = 0; i < some; ++i) {
    std::int64_t row = some == 1 ? 0 : i * (rows - 1) / (some - 1);
    Box box(shape().size(), {0, 1});
    box.back() = {0, shape().back()};
    for (std::size_t dim = shape().size() - 1; dim > 0; --dim) {
      const std::int64_t at = row % shape()[dim - 1];
      box[dim - 1] = {at, at + 1};
      row /= shape()[dim - 1];
    }
    const at::Tensor elements = read(box);
    all = riesz::digest(concat(all, " ", riesz::digest(elements.const_data_ptr(), elements.nbytes())));
  }
  return all;
}

}  // namespace riesz
