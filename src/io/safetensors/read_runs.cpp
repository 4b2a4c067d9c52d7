// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/safetensors/read_runs.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <algorithm>

#include "riesz/io/byte_spans.h"

namespace riesz {
namespace {

constexpr std::int64_t kAtOnce = std::int64_t{1} << 20;  // elements

void read_straight(const File& file, const StoredTensor& tensor, const Intervals& wanted, void* out) {
  const auto width = static_cast<std::int64_t>(c10::elementSize(tensor.type));
  ByteSpans spans(file, static_cast<std::byte*>(out));
  for (const Interval& part : wanted) {
    if (part.size() > 0)
      spans.add({tensor.place.begin + part.begin * width, tensor.place.begin + part.end * width});
  }
  spans.flush();
}

}  // namespace

void read_runs(const File& file, const StoredTensor& tensor, const Intervals& wanted, const at::Tensor& out) {
  const at::NoGradGuard no_gradient;
  if (out.scalar_type() == tensor.type && out.is_cpu()) {
    out.unsafeGetTensorImpl()->bump_version();  // who keeps a copy by the version sees this write too
    return read_straight(file, tensor, wanted, out.data_ptr());
  }
  const std::int64_t most = std::min(kAtOnce, std::max<std::int64_t>(out.numel(), 1));
  const at::Tensor buffer = at::empty({most}, at::TensorOptions(tensor.type));
  Intervals some;
  std::int64_t size = 0;
  std::int64_t at = 0;
  const auto convert = [&] {
    read_straight(file, tensor, some, buffer.data_ptr());
    out.narrow(0, at, size).copy_(buffer.narrow(0, 0, size));
    at += size;
    size = 0;
    some.clear();
  };
  for (Interval rest : wanted) {
    while (rest.size() > 0) {
      const std::int64_t taken = std::min(rest.size(), most - size);
      some.push_back({rest.begin, rest.begin + taken});
      rest.begin += taken;
      size += taken;
      if (size == most) convert();
    }
  }
  convert();
}

}  // namespace riesz
