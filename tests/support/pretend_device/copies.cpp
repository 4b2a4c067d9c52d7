// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/copies.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <utility>

#include "riesz/testing/pretend_device/pinned_memory.h"
#include "riesz/testing/pretend_device/place.h"
#include "riesz/testing/pretend_device/stream.h"

namespace riesz::testing::pretend {
namespace {

void copy(const Place& from, const Place& to) {
  const at::AutoDispatchBelowADInplaceOrView below;
  tensor_at(to).copy_(tensor_at(from));
}

/// Memory of the host that a device reads or writes by itself.
bool directly(const at::Tensor& host, const at::Tensor& there) {
  return is_pinned_address(host.storage().data()) && host.is_contiguous() &&
         host.scalar_type() == there.scalar_type();
}

}  // namespace

at::Tensor copy_from(const at::Tensor& given, const at::Tensor& to, bool non_blocking) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const at::Tensor from = given.expand_as(to);  // throws where that cannot be
  if (to.numel() == 0) return to;
  const bool both_there = !from.is_cpu() && !to.is_cpu();
  const at::Tensor& host = from.is_cpu() ? from : to;
  const at::Tensor& there = from.is_cpu() ? to : from;
  if (both_there || (non_blocking && directly(host, there))) {
    stream(current_stream()).add([from = place_of(from), to = place_of(to)] { copy(from, to); });
    if (!both_there) use_pinned(host);
  } else {
    host_wait(from.is_cpu() ? "copy from the host" : "copy to the host");
    copy(place_of(from), place_of(to));
  }
  return to;
}

}  // namespace riesz::testing::pretend
