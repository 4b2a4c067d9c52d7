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

/// A region: gives the vectors of its result for those of its arguments. The result itself goes to `result`,
/// a std::optional of its type, unless that is nullptr.
using Region = std::function<std::vector<Vector>(const std::vector<Vector>& xs, void* result)>;

/// Are gradients recorded, so that something would be kept?
bool keeps_for_backward();
/// The name of a region in errors.
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

/// Calls region(arguments…) with activation checkpointing: only the vectors among the arguments are kept for
/// backward. When backward reaches the region, it runs again, in a chain of its own, with the channel and the
/// context (`Context`) of the first run. Then backward goes through what the first run recorded. So values
/// and gradients have the same bits as without, whatever else uses its arguments, results and parameters.
/// Dropout has the same masks, parameters' gradients are reduced once, and gradients are put off as without.
/// Regions nest; one function may be several regions.
///
///     const Vector y = recompute([&](const Vector& v) { return mlp(norm(v)); }, x);
///
/// Arguments and result are vectors, or values in which `each_vector` finds some; other arguments are copied.
/// Vectors that the region uses otherwise (a lambda's captures) are kept by it, whole. What it refers to,
/// such as its modules, must live until backward. Where no gradients are recorded it is a plain call.
///
/// The region must be repeatable: a function of its arguments, of parameters and of its context, with no
/// other effects. If its second run communicates otherwise, or saves tensors of other forms, backward throws
/// an Error that names the region and the first difference. With checks (RIESZ_CHECK=1) it also does so where
/// a result has other bits.
///
/// Collective over all workers of the current Chain, also those on which it computes nothing: it runs again
/// on all of them. Cost: its forward again, with its communication, counted in the phase `recompute`. Until
/// backward it keeps its arguments; in backward, all that it saves at once. Two contractions that read one
/// vector share what they gather, and their gradients' sum, if both are inside or both outside. A
/// `RegionScope` makes the regions called in it run again earlier, or not at all.
///
/// On a pipeline a region lies inside one stage. A region that reaches another stage is an Error on all
/// workers that names it, before anything is sent.
/// @throws Error outside a Chain; where a region crosses a pipeline's stages; and in backward, for second
/// derivatives.
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
