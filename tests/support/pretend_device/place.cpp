// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/place.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>

#include <utility>

#include "riesz/testing/pretend_device/device_memory.h"
#include "riesz/testing/pretend_device/stream.h"

namespace riesz::testing::pretend {
namespace {

void put_off_as(const Place& place, const at::Tensor& x) {
  x._set_conj(place.conjugate);
  x._set_neg(place.negative);
}

}  // namespace

Place place_of(const at::Tensor& x) {
  auto* const first =
      x.device().is_privateuseone() ? on_host(x.const_data_ptr()) : static_cast<std::byte*>(x.data_ptr());
  return {first, Extents(x.sizes()), Extents(x.strides()), x.scalar_type(), x.is_conj(), x.is_neg()};
}

at::Tensor tensor_at(const Place& place) {
  const at::Tensor x = at::from_blob(place.first, place.sizes, place.strides, at::dtype(place.type));
  put_off_as(place, x);
  return x;
}

at::Tensor stand_in_for(const Place& place, double value) {
  const at::Tensor x = at::empty_strided(place.sizes, place.strides, at::dtype(place.type)).fill_(value);
  put_off_as(place, x);
  return x;
}

at::Tensor brought(const at::Tensor& host) {
  const bool as_it_lies = host.is_non_overlapping_and_dense();
  const at::Tensor kept = as_it_lies ? host : host.contiguous();
  const at::Tensor x =
      at::empty_strided(kept.sizes(), kept.strides(), kept.options().device(pretend_device()));
  bring(kept, x);
  return x;
}

void bring(const at::Tensor& host, const at::Tensor& to) {
  stream(current_stream()).add([host, place = place_of(to)] {
    const at::AutoDispatchBelowADInplaceOrView below;
    tensor_at(place).copy_(host);
  });
}

}  // namespace riesz::testing::pretend
