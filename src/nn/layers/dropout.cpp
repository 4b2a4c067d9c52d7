// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/dropout.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/module.h"
#include "riesz/nn/random/dropout_draws.h"
#include "riesz/nn/random/dropped.h"
#include "riesz/nn/random/random.h"
#include "riesz/nn/vectors/local_op.h"

namespace riesz {

Dropout::Dropout(OwnerAndName place, double p) : Layer(std::move(place)), named_("dropout " + path()), p_(p) {
  RIESZ_CHECK(p >= 0 && p < 1, "Dropout ", path(), ": a probability of ", p,
              "; it is at least 0 and below 1");
}

bool Dropout::active() const {
  if (p_ == 0) return false;
  RIESZ_CHECK(
      ContextScope::current() != nullptr, "Dropout ", path(),
      " is called in no context, so it cannot know whether to drop, nor by which seed and step; say "
      "const ContextScope scope({.training = ..., .seed = ..., .step = ...}) around the model's call");
  return ContextScope::current()->training;
}

detail::DropoutDraws Dropout::drawn(const std::vector<std::int64_t>& shape, const Boxes& boxes) const {
  const Context& context = *ContextScope::current();
  std::vector<std::int64_t> global = shape;
  Boxes placed = boxes;
  if (context.rows > 0) {
    RIESZ_CHECK(
        !shape.empty() && context.first_row + shape[0] <= context.rows, "Dropout ", path(), ": rows ",
        context.first_row, " to ", context.first_row + (shape.empty() ? 0 : shape[0]),
        " of a global batch of ", context.rows, " (Context), for a vector of shape ", at::IntArrayRef(shape),
        "; give Context::rows the rows of all micro-batches together, and first_row those before this "
        "one, or leave both out where a call has the whole batch");
    global[0] = context.rows;
    for (Interval& rows : placed[0]) rows = {rows.begin + context.first_row, rows.end + context.first_row};
  }
  return {std::move(global), std::move(placed), philox_key(context.seed, path()),
          static_cast<std::uint64_t>(context.step), p_};
}

Vector Dropout::forward(const Vector& x) const {
  if (!active()) return x;
  const Space& X = x.space();
  check_not_partial(named_, X);
  return detail::local_op(X, {x.local()}, x.is_constant(), [&] {
    return detail::dropped(x.local(), drawn(X.shape(), X.boxes(X.partition().rank())));
  });
}

std::string Dropout::describe() const { return concat("Dropout with probability ", p_); }

}  // namespace riesz
