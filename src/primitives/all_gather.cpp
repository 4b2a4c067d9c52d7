// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_gather.h"

#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/ends.h"
#include "riesz/primitives/reduce_scatter.h"
#include "riesz/primitives/slice.h"

namespace riesz::primitives {
namespace {

Step adjoint_of_all_gather(const Space& X, const Space& Y, const std::vector<int>& axes) {
  return X.placement(axes.front()) == Placement::Replicated ? slice(X, Y, axes) : reduce_scatter(X, Y, axes);
}

}  // namespace

Step all_gather(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("AllGather", X, Y, axes, {Placement::Sharded}, {Placement::Replicated, Placement::Copied});
  return std::make_shared<BoxExchange>("AllGather", X, Y, axes, adjoint_of_all_gather);
}

}  // namespace riesz::primitives
