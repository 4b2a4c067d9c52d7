// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/known_to.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/primitives/between.h"

namespace riesz {

Space known_to(const Partition& Q, const Space& X) {
  const Partition& P = X.partition();
  RIESZ_CHECK(!P.active() || X.concrete(), "known_to: the workers of ", to_string(P), " know the shape of ",
              to_string(X), " in part only; give the space of a vector");
  if (X.dims() == 0) return X;
  const Space told(P.subset({0}), {X.dims()});
  Space everywhere(Q, {X.dims()});
  for (const Axis& axis : Q.axes()) everywhere = everywhere.copied(axis.name);
  at::Tensor shape = at::empty(told.local_shape(), at::kLong);
  if (told.partition().active())
    std::copy(X.shape().begin(), X.shape().end(), shape.mutable_data_ptr<std::int64_t>());
  const at::NoGradGuard guard;
  const at::Tensor known = between(told, everywhere)({told, shape}).local();
  if (P.active() || !Q.active()) return X;
  const std::int64_t* extents = known.const_data_ptr<std::int64_t>();
  return X.with_shape(std::vector<std::int64_t>(extents, extents + X.dims()));
}

}  // namespace riesz
