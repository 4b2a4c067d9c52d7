// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <any>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "riesz/comm/plan_cache.h"
#include "riesz/nn/stages/each_vector.h"
#include "riesz/partition/vector.h"

// A module that lies elsewhere computes nothing here, but says in which spaces its result lies. That follows
// from the spaces of its arguments, so it is found out once.

namespace riesz::detail {

/// Types with a fixed number of vectors, whatever the value.
template <typename T>
inline constexpr bool is_fixed_vectors = std::is_same_v<T, Vector>;
template <typename T, std::size_t n>
inline constexpr bool is_fixed_vectors<std::array<T, n>> = is_fixed_vectors<T>;
template <typename A, typename B>
inline constexpr bool is_fixed_vectors<std::pair<A, B>> = is_fixed_vectors<A>&& is_fixed_vectors<B>;
template <typename... Ts>
inline constexpr bool is_fixed_vectors<std::tuple<Ts...>> = (is_fixed_vectors<Ts> && ...);

/// Types that hold vectors and nothing else, so that their number says all.
template <typename T>
inline constexpr bool is_vectors = is_fixed_vectors<T>;
template <typename T>
inline constexpr bool is_vectors<std::optional<T>> = is_fixed_vectors<T>;
template <typename T>
inline constexpr bool is_vectors<std::vector<T>> = is_fixed_vectors<T>;

template <typename T>
inline constexpr bool is_word = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Does the range of a call with such arguments follow from what `CallOf` records of them?
template <typename Result, typename... Arguments>
inline constexpr bool range_follows = is_vectors<Result> && ((is_vectors<std::remove_cvref_t<Arguments>> ||
                                                              is_word<std::remove_cvref_t<Arguments>>)&&...);

/// A call, as far as the range follows from it.
struct CallOf {
  std::type_index types;
  std::vector<Space> spaces;
  std::vector<double> words;  // numbers of vectors, their types, plain numbers, what is recorded

  bool operator==(const CallOf& other) const = default;
};

/// The calls' mode: are gradients recorded, is it training?
void add_mode(CallOf& call);
void add_vector(CallOf& call, const Vector& x);
/// A zero-volume vector like x. If gradients are recorded, it looks computed, from nothing.
Vector anew(const Vector& x);
/// Which vectors are copies of one: for each, the first such among it and those before it.
std::vector<std::size_t> first_copies(const std::vector<Vector>& xs);
/// How often this thread has taken part in a call of several workers, or entered a stage.
std::uint64_t times_taken_part();

template <typename T>
void add_argument(CallOf& call, const T& argument) {
  if constexpr (is_word<T>) {
    call.words.push_back(static_cast<double>(argument));
  } else {
    const std::size_t before = call.spaces.size();
    each_vector(const_cast<T&>(argument), [&call](Vector& x) { add_vector(call, x); });
    call.words.push_back(static_cast<double>(call.spaces.size() - before));
  }
}

/// The results of one module's calls. Safe to use from several threads.
class KnownRanges {
 public:
  /// The result of `forward` for these arguments. If this worker took no part in the first such call, it is
  /// vectors in the spaces of that call. Which of them are the same vector, or an argument, is as it was
  /// there.
  template <typename Result, typename Forward, typename... Arguments>
  Result of(const Forward& forward, const Arguments&... arguments) {
    CallOf call{typeid(std::tuple<Result, Arguments...>), {}, {}};
    (add_argument(call, arguments), ...);
    add_mode(call);
    std::vector<Vector> vectors;  // of the arguments, then of the result
    const auto note = [&vectors](Vector& x) { vectors.push_back(x); };
    (each_vector(const_cast<Arguments&>(arguments), note), ...);
    for (const std::size_t first : first_copies(vectors)) call.words.push_back(static_cast<double>(first));
    if (const std::shared_ptr<const Known> known = find(call)) {
      Result result = std::any_cast<const Result&>(known->result);
      each_vector(result, [&](Vector& x) {
        const std::size_t first = known->first_copies[vectors.size()];
        x = first < vectors.size() ? vectors[first] : anew(x);
        vectors.push_back(x);
      });
      return result;
    }
    const std::uint64_t before = times_taken_part();
    Result result = forward();
    if (times_taken_part() != before) return result;
    Result kept = result;
    each_vector(kept, note);
    each_vector(kept, [](Vector& x) { x = anew(x); });
    keep({std::move(call), std::move(kept), first_copies(vectors)});
    return result;
  }

 private:
  struct Known {
    CallOf call;
    std::any result;
    std::vector<std::size_t> first_copies;  // among the arguments' vectors, then the result's
  };

  std::shared_ptr<const Known> find(const CallOf& call);
  void keep(Known known);

  PlanCache<Known> known_{16};
};

}  // namespace riesz::detail
