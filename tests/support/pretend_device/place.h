// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>

namespace riesz::testing::pretend {

using Extents = c10::SmallVector<std::int64_t, 5>;

/// Where the elements of a tensor are: what queued work has of it. It keeps no memory alive.
struct Place {
  std::byte* first;
  Extents sizes, strides;
  at::ScalarType type;
  bool conjugate, negative;  // what is put off
};

/// Of a tensor of the device or of the host.
Place place_of(const at::Tensor& x);

/// The CPU's tensor of that memory, for its kernels.
at::Tensor tensor_at(const Place& place);

/// The same without memory, for its kernels to learn what shapes they give.
at::Tensor stand_in_for(const Place& place, double value);

/// Makes a tensor of the device that has the values of one of the CPU. Nothing waits: the latter must not be
/// written any more.
at::Tensor brought(const at::Tensor& host);
/// Writes them into one that is there.
void bring(const at::Tensor& host, const at::Tensor& to);

}  // namespace riesz::testing::pretend
