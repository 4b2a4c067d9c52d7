// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "riesz/primitives/operator.h"

namespace riesz::detail {

/// An operator's result that may still be on its way. An operator that moves nothing gives it at once.
class OnItsWay {
 public:
  OnItsWay(const Operator& A, const at::Tensor& x) {
    const Vector v(A.domain(), x);
    if (A.sends())
      pending_.emplace(A.start(v));
    else
      there_ = A(v).local();
  }
  at::Tensor take() { return pending_ ? pending_->wait().local() : there_; }

 private:
  std::optional<Pending> pending_;
  at::Tensor there_;
};

}  // namespace riesz::detail
