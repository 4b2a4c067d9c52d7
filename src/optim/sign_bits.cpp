// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/sign_bits.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/without_values.h"

namespace riesz {
namespace {

/// The value of each bit of a byte, from the lowest.
at::Tensor bits_of(const at::Tensor& x) { return at::arange(8, x.options().dtype(at::kByte)); }

at::Tensor pack_signs_there(const at::Tensor& x) {
  const std::int64_t bytes = (x.numel() + 7) / 8;
  const at::Tensor signs = at::zeros({8 * bytes}, x.options().dtype(at::kByte));
  signs.narrow(0, 0, x.numel()).copy_(x.ge(0));
  return signs.view({bytes, 8}).bitwise_left_shift(bits_of(x)).sum(1, false, at::kByte);
}

void add_signs_there(const at::Tensor& bytes, const at::Tensor& scale, const at::Tensor& x) {
  const at::Tensor bits = bytes.unsqueeze(1).bitwise_right_shift(bits_of(x)).bitwise_and_(1);
  const at::Tensor signs = bits.view({-1}).narrow(0, 0, x.numel()).to(x.scalar_type()).mul_(2).sub_(1);
  x.add_(signs.mul_(scale.to(x.scalar_type()).squeeze()));
}

at::Tensor pack_signs_here(const at::Tensor& x) {
  at::Tensor bytes = at::zeros({(x.numel() + 7) / 8}, at::kByte);
  if (!has_values()) return bytes;
  auto* byte = bytes.mutable_data_ptr<std::uint8_t>();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "pack_signs", [&] {
    const auto* value = x.const_data_ptr<scalar_t>();
    const std::int64_t whole = x.numel() / 8;
    for (std::int64_t i = 0; i < whole; ++i) {
      unsigned bits = 0;
      for (int k = 0; k < 8; ++k) bits |= (value[8 * i + k] >= 0 ? 1U : 0U) << k;
      byte[i] = static_cast<std::uint8_t>(bits);
    }
    for (std::int64_t i = 8 * whole; i < x.numel(); ++i) {
      if (value[i] >= 0) byte[i / 8] = static_cast<std::uint8_t>(byte[i / 8] | (1U << (i % 8)));
    }
  });
  return bytes;
}

void add_signs_here(const at::Tensor& bytes, const at::Tensor& scale, const at::Tensor& x) {
  if (has_values()) add_signs(bytes, host_value(scale, 0.0), x);
}

void check_bytes(const at::Tensor& bytes, const at::Tensor& x) {
  RIESZ_CHECK(x.is_contiguous() && bytes.numel() == (x.numel() + 7) / 8, "add_signs: ", bytes.numel(),
              " bytes for ", x.numel(), " elements");
}

constexpr Dispatched<at::Tensor(const at::Tensor&)> pack_signs_kernels{pack_signs_here, pack_signs_there};
constexpr Dispatched<void(const at::Tensor&, const at::Tensor&, const at::Tensor&)> add_signs_kernels{
    add_signs_here, add_signs_there};

}  // namespace

at::Tensor pack_signs(const at::Tensor& x) {
  RIESZ_CHECK(x.is_contiguous(), "pack_signs: of a contiguous tensor");
  return pack_signs_kernels(x.device(), x);
}

void add_signs(const at::Tensor& bytes, double scale, const at::Tensor& x) {
  check_bytes(bytes, x);
  if (!has_values()) return;
  const auto* byte = bytes.const_data_ptr<std::uint8_t>();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_signs", [&] {
    auto* value = x.mutable_data_ptr<scalar_t>();
    const auto step = static_cast<scalar_t>(scale);
    const std::int64_t whole = x.numel() / 8;
    for (std::int64_t i = 0; i < whole; ++i) {
      const unsigned bits = byte[i];
      for (int k = 0; k < 8; ++k) value[8 * i + k] += (bits >> k & 1U) != 0 ? step : -step;
    }
    for (std::int64_t i = 8 * whole; i < x.numel(); ++i)
      value[i] += (byte[i / 8] >> (i % 8) & 1U) != 0 ? step : -step;
  });
}

void add_signs(const at::Tensor& bytes, const at::Tensor& scale, const at::Tensor& x) {
  check_bytes(bytes, x);
  add_signs_kernels(x.device(), bytes, scale, x);
}

}  // namespace riesz
