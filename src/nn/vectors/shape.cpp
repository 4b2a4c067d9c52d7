// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/shape.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/vectors/dims.h"
#include "riesz/nn/vectors/following_space.h"
#include "riesz/nn/vectors/local_op.h"
#include "riesz/nn/vectors/reshaped.h"
#include "riesz/partition/intervals/local_boxes.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

using Numbers = std::vector<std::int64_t>;

Vector in_space(const Vector& x, const Space& Y) {
  if (!x.space().partition().active()) return {Y, x.local(), x.is_constant()};
  return {Y, x.local().reshape(Y.local_shape()), x.is_constant()};
}

using SpacePlans = detail::PlanCache<detail::FollowingSpace>;

/// Two spaces whose vectors' elements lie alike.
struct SameElements {
  Space X, Y;
};

struct Permuted {
  Space X;
  std::string indices;
  Numbers order;
  Space Y;
};

/// Dims [first, last] as one, and the dims after it.
Space flattened(const Space& X, int first, int last) {
  Numbers shape(X.shape().begin(), X.shape().begin() + first);
  std::vector<detail::DimGroup> groups;
  for (int dim = 0; dim < first; ++dim) groups.push_back({dim, dim + 1, dim, dim + 1});
  groups.push_back({first, last + 1, first, first + 1});
  shape.push_back(std::accumulate(X.shape().begin() + first, X.shape().begin() + last + 1, std::int64_t{1},
                                  std::multiplies<>()));
  for (int dim = last + 1; dim < X.dims(); ++dim) {
    const int to = static_cast<int>(shape.size());
    groups.push_back({dim, dim + 1, to, to + 1});
    shape.push_back(X.shape()[static_cast<std::size_t>(dim)]);
  }
  return detail::reshaped(X, shape, groups);
}

Space unflattened(const Space& X, int dim, const Numbers& sizes) {
  Numbers shape = X.shape();
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
  const int more = static_cast<int>(sizes.size());
  std::vector<detail::DimGroup> groups;
  for (int d = 0; d < X.dims(); ++d) {
    if (d == dim)
      groups.push_back({d, d + 1, d, d + more});
    else
      groups.push_back({d, d + 1, d < dim ? d : d + more - 1, d < dim ? d + 1 : d + more});
  }
  return detail::reshaped(X, shape, groups);
}

std::vector<int> order_of(const std::string& indices, const Space& X) {
  const std::size_t arrow = indices.find("->");
  RIESZ_CHECK(arrow != std::string::npos, "permute: \"", indices, "\" is not of the form \"btc->tbc\"");
  const std::string from = indices.substr(0, arrow);
  const std::string to = indices.substr(arrow + 2);
  std::string a = from, b = to;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  RIESZ_CHECK(a == b && std::adjacent_find(a.begin(), a.end()) == a.end(), "permute: \"", indices,
              "\" must have each index once on either side");
  RIESZ_CHECK(static_cast<int>(from.size()) == X.dims(), "permute: \"", from, "\" are ", from.size(),
              " indices, for the dims of ", to_string(X));
  std::vector<int> order;
  for (const char index : to) order.push_back(static_cast<int>(from.find(index)));
  return order;
}

/// The space without a dim, Partial on the axes that shard it.
Space without_dim(const Space& X, int dim) {
  Space Y = select_dims(X, detail::other_dims(X, {dim}));
  for (const std::string& axis : sharding_axes(X, dim)) Y = Y.partial(axis);
  return Y;
}

/// What this worker has of a global index of a dim, of copies only the first, all of terms, added.
at::Tensor element(const Vector& x, int dim, std::int64_t index) {
  Numbers places;
  const auto segments = detail::held_segments(x.space(), x.space().partition().rank(), Overlap::copies);
  for (const Segment& segment : segments[static_cast<std::size_t>(dim)]) {
    const Interval& global = segment.global;
    if (index >= global.begin && index < global.end) places.push_back(segment.local + index - global.begin);
  }
  // Of none at all a sum too, so that x has a gradient here as elsewhere.
  if (places.empty()) return at::sum(x.local().narrow(dim, 0, 0), {dim}, false, x.local().scalar_type());
  at::Tensor found = x.local().select(dim, places.front());
  for (std::size_t i = 1; i < places.size(); ++i) found = found.add(x.local().select(dim, places[i]));
  return found;
}

}  // namespace

Vector reshape(const Vector& x, const std::vector<std::int64_t>& shape) {
  if (shape == x.space().shape()) return x;
  static auto& plans = *new SpacePlans;
  const auto made = [&] { return detail::reshaped(x.space(), shape); };
  return in_space(x, detail::following(plans, x.space(), shape, made)->Y);
}

Vector reshape(const Vector& x, const Space& Y) {
  if (Y == x.space()) return x;
  static auto& plans = *new detail::PlanCache<SameElements>;
  plans.get([&](const SameElements& made) { return made.X == x.space() && made.Y == Y; },
            [&] {
              detail::check_same_elements(x.space(), Y);
              return SameElements{x.space(), Y};
            });
  return in_space(x, Y);
}

Vector flatten(const Vector& x, int first, int last) {
  const int begin = detail::checked_dim("flatten", x.space(), first);
  const int end = detail::checked_dim("flatten", x.space(), last);
  RIESZ_CHECK(begin <= end, "flatten: dims ", first, " to ", last, " of ", to_string(x.space()), " are none");
  static auto& plans = *new SpacePlans;
  const auto made = [&] { return flattened(x.space(), begin, end); };
  return in_space(x, detail::following(plans, x.space(), {begin, end}, made)->Y);
}

Vector unflatten(const Vector& x, int dim, const std::vector<std::int64_t>& sizes) {
  const int d = detail::checked_dim("unflatten", x.space(), dim);
  const std::int64_t n = x.space().shape()[static_cast<std::size_t>(d)];
  const std::int64_t product =
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  RIESZ_CHECK(!sizes.empty() && product == n, "unflatten: dim ", d, " of ", to_string(x.space()), " has ", n,
              " elements, not those of ", at::IntArrayRef(sizes));
  static auto& plans = *new SpacePlans;
  Numbers numbers = sizes;
  numbers.push_back(d);
  const auto made = [&] { return unflattened(x.space(), d, sizes); };
  return in_space(x, detail::following(plans, x.space(), numbers, made)->Y);
}

Vector permute(const Vector& x, const std::string& indices) {
  static auto& plans = *new detail::PlanCache<Permuted>;
  const Space& X = x.space();
  const auto plan = plans.get([&](const Permuted& made) { return made.indices == indices && made.X == X; },
                              [&]() -> Permuted {
                                const std::vector<int> dims = order_of(indices, X);
                                return {X, indices, {dims.begin(), dims.end()}, select_dims(X, dims)};
                              });
  return {plan->Y, X.partition().active() ? x.local().permute(plan->order) : x.local(), x.is_constant()};
}

Vector select(const Vector& x, int dim, std::int64_t index) {
  const Space& X = x.space();
  const int d = detail::checked_dim("select", X, dim);
  RIESZ_CHECK(index >= 0 && index < X.shape()[static_cast<std::size_t>(d)], "select: there is no index ",
              index, " of dim ", d, " in ", to_string(X));
  static auto& plans = *new SpacePlans;
  const auto plan = detail::following(plans, X, {d}, [&] { return without_dim(X, d); });
  const Space& Y = plan->Y;
  if (!X.partition().active()) return {Y, x.local(), x.is_constant()};
  return {Y, X.shards(d).empty() ? x.local().select(d, index) : element(x, d, index), x.is_constant()};
}

std::vector<Vector> unbind(const Vector& x, int dim) {
  const int d = detail::checked_dim("unbind", x.space(), dim);
  std::vector<Vector> parts;
  for (std::int64_t i = 0; i < x.space().shape()[static_cast<std::size_t>(d)]; ++i)
    parts.push_back(select(x, d, i));
  return parts;
}

Vector stack(const std::vector<Vector>& xs, int dim) {
  RIESZ_CHECK(!xs.empty(), "stack of no vectors: of which space?");
  const Space& X = xs.front().space();
  const int d = dim < 0 ? dim + X.dims() + 1 : dim;
  RIESZ_CHECK(d >= 0 && d <= X.dims(), "stack: a new dim cannot be at ", dim, " in ", to_string(X));
  std::vector<at::Tensor> locals;
  for (const Vector& x : xs) {
    RIESZ_CHECK(x.space() == X, "stack needs vectors of one space, not of\n  ", to_string(X), "\n  ",
                to_string(x.space()), "\n", conversion_hint(X, x.space()));
    locals.push_back(x.local());
  }
  const Space Y = insert_dim(X, d, static_cast<std::int64_t>(xs.size()));
  const bool constant = std::all_of(xs.begin(), xs.end(), [](const Vector& x) { return x.is_constant(); });
  return detail::local_op(Y, locals, constant, [&] { return at::stack(locals, d); });
}

}  // namespace riesz
