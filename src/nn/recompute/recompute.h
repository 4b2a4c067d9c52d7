// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "riesz/nn/recompute/region_scope.h"
#include "riesz/nn/stages/each_vector.h"
#include "riesz/partition/vector.h"

namespace riesz {

struct RecomputeOptions {
  /// The region's name in errors; empty: that of its layer.
  std::string name = {};
  /// Axes of the grid, such as tp: an input that is Replicated there is kept in pieces, one on each worker,
  /// and gathered in backward.
  std::vector<std::string> pieces_over = {};
};

namespace detail {

/// The vectors of a region's result, of those of its arguments. The result itself goes to `result`, a
/// std::optional of its type, unless that is nullptr.
using Region = std::function<std::vector<Vector>(const std::vector<Vector>& xs, void* result)>;

/// Is anything recorded, so that something would be kept?
bool keeps_for_backward();
/// What errors call a region.
std::string name_of_region(const RecomputeOptions& options);
/// As x, with no memory.
Vector hollow(const Vector& x);
/// The vectors of the result, through which backward comes to the region.
std::vector<Vector> recompute(const RecomputeOptions& options, Region region, const std::vector<Vector>& xs,
                              void* result);

template <typename T>
std::vector<Vector> vectors_of(T& value) {
  std::vector<Vector> all;
  each_vector(value, [&](Vector& v) { all.push_back(v); });
  return all;
}

template <typename T>
void set_vectors(T& value, const std::vector<Vector>& vectors) {
  auto next = vectors.begin();
  each_vector(value, [&](Vector& v) { v = *next++; });
}

}  // namespace detail

/// region(arguments…), which keeps for backward only the vectors among the arguments. When backward comes to
/// it, it runs again, in a chain of its own, in the stream and the context (`Context`) of the first time.
/// Then backward goes through what was recorded the first time. So values and gradients have the same bits as
/// without, whatever else uses its arguments, its results and its parameters. Dropout has the same masks,
/// parameters' gradients are reduced once, and gradients are put off as without. Regions nest; one function
/// may be several regions.
///
///     const Vector y = recompute([&](const Vector& v) { return mlp(norm(v)); }, x);
///
/// Arguments and result: vectors, and what `each_vector` finds some in; other arguments are copied. Vectors
/// that the region uses otherwise (a lambda's captures) are kept by it, whole. What it refers to, such as its
/// modules, lives until backward. Where no gradients are recorded it is a plain call.
///
/// The region repeats: it is a function of its arguments, of parameters, and of its context, and has no other
/// effects. Where its second run communicates otherwise, or keeps tensors of other forms, backward throws an
/// Error that names the region and the first difference. With checks (RIESZ_CHECK=1) it does so also where a
/// result has other bits.
///
/// Collective over all workers of the current Chain, also those on which it computes nothing: it runs again
/// on all of them. Cost: its forward again, with what it communicates; counted in the phase `recompute`.
/// Memory until backward: its arguments. In backward: what all of it keeps, at once. Two contractions that
/// read one vector share what they gather, and their gradients' sum, if both are inside or both outside.
/// A `RegionScope` says of what is called in it that it runs again earlier, or not at all.
///
/// On a pipeline a region lies inside one stage. One that comes to another is refused, by name, on all
/// workers, before anything is sent.
/// @throws Error outside a Chain; on a pipeline, where it crosses stages; in backward, if second derivatives
/// are asked for.
template <typename F, typename... Arguments>
auto recompute(const RecomputeOptions& options, F region, const Arguments&... arguments) {
  using Result = std::decay_t<std::invoke_result_t<F&, const Arguments&...>>;
  static_assert(!std::is_void_v<Result>, "a region returns what it computes");
  if (!detail::keeps_for_backward()) return Result(region(arguments...));
  const detail::InRegion inside(detail::name_of_region(options));
  if (const RegionScope* scope = RegionScope::current();
      scope != nullptr && scope->what() == RegionScope::Regions::plain)
    return Result(region(arguments...));
  std::tuple<Arguments...> given(arguments...);
  const std::vector<Vector> xs = detail::vectors_of(given);
  each_vector(given, [](Vector& x) { x = detail::hollow(x); });
  std::optional<Result> result;
  const std::vector<Vector> ys = detail::recompute(
      options,
      [region = std::move(region), given = std::move(given)](const std::vector<Vector>& of,
                                                             void* to) mutable {
        std::tuple<Arguments...> called = given;
        detail::set_vectors(called, of);
        Result made = std::apply(region, std::as_const(called));
        std::vector<Vector> vectors = detail::vectors_of(made);
        if (to != nullptr) static_cast<std::optional<Result>*>(to)->emplace(std::move(made));
        return vectors;
      },
      xs, &result);
  detail::set_vectors(*result, ys);
  return *std::move(result);
}

template <typename F, typename... Arguments>
requires(!std::is_same_v<F, RecomputeOptions>) auto recompute(F region, const Arguments&... arguments) {
  return recompute(RecomputeOptions{}, std::move(region), arguments...);
}

}  // namespace riesz
