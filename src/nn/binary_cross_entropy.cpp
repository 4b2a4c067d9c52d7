// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/binary_cross_entropy.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>

#include "riesz/comm/error.h"
#include "riesz/nn/extremes.h"

namespace riesz {
namespace {

void check_probabilities(const Vector& p) {
  const auto [least, greatest] = extremes(p);
  const bool any = p.space().partition().active() && p.space().numel() > 0;
  RIESZ_CHECK(!any || (least >= 0 && greatest <= 1), "bce_loss: the probability ",
              least >= 0 ? greatest : least,
              " is not between 0 and 1; bce_with_logits_loss takes any number");
}

}  // namespace

Loss bce_loss(const Vector& p, const Vector& y) {
  return element_loss("bce_loss", p, y, [&p](const at::Tensor& a, const at::Tensor& b) {
    check_probabilities(p);
    return at::binary_cross_entropy(a, b, {}, at::Reduction::Sum);
  });
}

Loss bce_with_logits_loss(const Vector& x, const Vector& y) {
  return element_loss("bce_with_logits_loss", x, y, [](const at::Tensor& a, const at::Tensor& b) {
    return at::binary_cross_entropy_with_logits(a, b, {}, {}, at::Reduction::Sum);
  });
}

}  // namespace riesz
