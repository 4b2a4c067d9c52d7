// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

#include "riesz/partition/vector.h"

namespace riesz {

namespace detail {

struct AnyFunction {
  void operator()(Vector&) const {}
};

template <typename T>
concept HasVectors = requires(T& value) {
  value.each_vector(AnyFunction());
};
template <typename T>
concept RangeOfValues = !HasVectors<T> && requires(T & value) {
  value.begin();
  value.end();
  requires std::is_lvalue_reference_v<decltype(*value.begin())>;
  requires !std::is_const_v<std::remove_reference_t<decltype(*value.begin())>>;
};
template <typename T>
concept TupleOfValues = requires {
  std::tuple_size<T>::value;
};
template <typename T>
concept MaybeValue = requires(T& value) {
  value.has_value();
  *value;
};

}  // namespace detail

/// Calls f(v) for each Vector v in a value, in order: itself, those in an optional, a pair, a tuple or a
/// container (std::vector, std::array, std::deque …), also in each other, and those of a struct that names
/// them:
///
///     struct State {
///       Vector hidden, cell;
///       void each_vector(const auto& f) { f(hidden), f(cell); }
///     };
///
/// In what else there is are none.
template <typename T, typename F>
void each_vector(T& value, const F& f) {
  if constexpr (std::is_same_v<T, Vector>)
    f(value);
  else if constexpr (detail::HasVectors<T>)
    value.each_vector([&](auto& each) { riesz::each_vector(each, f); });
  else if constexpr (detail::RangeOfValues<T>)
    for (auto& each : value) riesz::each_vector(each, f);
  else if constexpr (detail::TupleOfValues<T>)
    std::apply([&](auto&... each) { (riesz::each_vector(each, f), ...); }, value);
  else if constexpr (detail::MaybeValue<T>)
    if (value.has_value()) riesz::each_vector(*value, f);
}

}  // namespace riesz
