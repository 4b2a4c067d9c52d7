// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "riesz/partition/vector.h"

namespace riesz {
namespace detail {

struct Ignore {
  template <typename T>
  void operator()(T& /*value*/) const {}
};

template <typename T>
concept SaysItsVectors = requires(T& value) {
  value.each_vector(Ignore{});
};

template <typename T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_variant = false;
template <typename... Ts>
inline constexpr bool is_variant<std::variant<Ts...>> = true;

/// Elements that can be written to; a path is a range of paths.
template <typename T>
concept Elements = std::ranges::range<T> && std::is_lvalue_reference_v<std::ranges::range_reference_t<T>> &&
    !std::is_same_v<std::remove_cvref_t<std::ranges::range_reference_t<T>>, T>;

template <typename T>
constexpr bool holds_vectors();

template <typename T, std::size_t... i>
constexpr bool an_element_holds(std::index_sequence<i...> /*all*/) {
  return (holds_vectors<std::tuple_element_t<i, T>>() || ...);
}

template <typename... Ts>
constexpr bool an_alternative_holds(const std::variant<Ts...>* /*of*/) {
  return (holds_vectors<Ts>() || ...);
}

template <typename T>
constexpr bool holds_vectors() {
  if constexpr (std::is_const_v<T> || std::is_pointer_v<T> || std::is_reference_v<T>)
    return false;
  else if constexpr (std::is_same_v<T, Vector> || SaysItsVectors<T>)
    return true;
  else if constexpr (TupleLike<T>)
    return an_element_holds<T>(std::make_index_sequence<std::tuple_size_v<T>>{});
  else if constexpr (is_optional<T>)
    return holds_vectors<typename T::value_type>();
  else if constexpr (is_variant<T>)
    return an_alternative_holds(static_cast<const T*>(nullptr));
  else if constexpr (Elements<T>)
    return holds_vectors<std::remove_reference_t<std::ranges::range_reference_t<T>>>();
  else
    return false;
}

}  // namespace detail

/// Are there vectors in a T that `each_vector` finds?
template <typename T>
inline constexpr bool has_vectors = detail::holds_vectors<T>();

/// Calls f(x) for each Vector x in a value, in order: a Vector itself, and those in tuples, pairs, arrays,
/// optionals, variants, vectors and maps' values. A struct says its vectors by a member
///
///     template <typename F> void each_vector(F&& f) { f(hidden), f(cell); }
///
/// Const values, pointers and references are left alone.
template <typename T, typename F>
void each_vector(T& value, F&& f) {
  if constexpr (!has_vectors<T>)
    return;
  else if constexpr (std::is_same_v<T, Vector>)
    f(value);
  else if constexpr (detail::SaysItsVectors<T>)
    value.each_vector([&f](auto& each) { riesz::each_vector(each, f); });
  else if constexpr (detail::TupleLike<T>)
    std::apply([&f](auto&... each) { (each_vector(each, f), ...); }, value);
  else if constexpr (detail::is_optional<T>) {
    if (value) each_vector(*value, f);
  } else if constexpr (detail::is_variant<T>)
    std::visit([&f](auto& now) { each_vector(now, f); }, value);
  else
    for (auto& element : value) each_vector(element, f);
}

}  // namespace riesz
