// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/channel_dropout.h"

#include <ATen/ops/ones.h>

#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/random/dropout_draws.h"
#include "riesz/nn/random/dropped.h"
#include "riesz/nn/vectors/local_op.h"

namespace riesz {

ChannelDropout::ChannelDropout(OwnerAndName place, double p)
    : Layer(std::move(place)), p_(p), drop_(*this, "", p) {}

Vector ChannelDropout::forward(const Vector& x) {
  if (!drop_.active()) return x;
  const Space& X = x.space();
  check_not_partial(concat("ChannelDropout ", path()), X);
  RIESZ_CHECK(X.dims() >= 2, "ChannelDropout ", path(), ": x lies in ", to_string(X),
              "; it has a batch and channels");
  return detail::local_op(X, {x.local()}, x.is_constant(), [&] {
    const Boxes boxes = X.boxes(X.partition().rank());
    std::vector<std::int64_t> shape(static_cast<std::size_t>(X.dims()), 1);
    for (std::size_t dim = 0; dim < 2; ++dim) shape[dim] = x.local().size(static_cast<std::int64_t>(dim));
    const at::Tensor ones = at::ones({shape[0], shape[1]}, x.local().options().requires_grad(false));
    const detail::DropoutDraws draws = drop_.drawn({X.shape()[0], X.shape()[1]}, {boxes[0], boxes[1]});
    return x.local().mul(detail::dropped(ones, draws).view(shape));
  });
}

std::string ChannelDropout::describe() const { return concat("Dropout of channels with probability ", p_); }

}  // namespace riesz
