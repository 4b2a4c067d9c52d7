// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/sign_bits.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/zeros.h>

#include "riesz/comm/error.h"
#include "riesz/comm/without_values.h"

namespace riesz {

at::Tensor pack_signs(const at::Tensor& x) {
  RIESZ_CHECK(x.is_cpu() && x.is_contiguous(), "pack_signs: of a contiguous tensor on the CPU");
  at::Tensor bytes = at::zeros({(x.numel() + 7) / 8}, at::kByte);
  if (!has_values()) return bytes;
  auto* byte = bytes.mutable_data_ptr<std::uint8_t>();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "pack_signs", [&] {
    const auto* value = x.const_data_ptr<scalar_t>();
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      if (value[i] >= 0) byte[i / 8] = static_cast<std::uint8_t>(byte[i / 8] | (1U << (i % 8)));
    }
  });
  return bytes;
}

void add_signs(const at::Tensor& bytes, double scale, const at::Tensor& x) {
  RIESZ_CHECK(x.is_cpu() && x.is_contiguous() && bytes.numel() == (x.numel() + 7) / 8,
              "add_signs: ", bytes.numel(), " bytes for ", x.numel(), " elements");
  if (!has_values()) return;
  const auto* byte = bytes.const_data_ptr<std::uint8_t>();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_signs", [&] {
    auto* value = x.mutable_data_ptr<scalar_t>();
    const auto step = static_cast<scalar_t>(scale);
    for (std::int64_t i = 0; i < x.numel(); ++i)
      value[i] += (byte[i / 8] >> (i % 8) & 1U) != 0 ? step : -step;
  });
}

}  // namespace riesz
