// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "riesz/nn/stages/each_vector.h"

// A module of a stage is given copies of the arguments that hold vectors, with these brought to it. What it
// wrote into such a copy would be lost, so that is refused.

namespace riesz::detail {

/// Could `forward` take it by a writable reference?
template <typename Argument>
inline constexpr bool is_writable =
    has_vectors<std::remove_cvref_t<Argument>>&& std::is_lvalue_reference_v<Argument> &&
    !std::is_const_v<std::remove_reference_t<Argument>>;

/// The identities of vectors' tensors.
using Identities = std::vector<const void*>;

void add_identity(const Vector& x, Identities& all);

template <typename Argument, typename T>
void add_identities(T& argument, Identities& all) {
  if constexpr (is_writable<Argument>) each_vector(argument, [&all](Vector& x) { add_identity(x, all); });
}

/// @throws Error naming the module, and what to do.
[[noreturn]] void throw_written(const std::string& module);

/// The vectors that arguments had when it was made.
template <typename Collect>
class Unwritten {
 public:
  explicit Unwritten(Collect collect) : collect_(std::move(collect)), before_(now()) {}

  /// Do the arguments still have them?
  bool holds() const { return now() == before_; }

 private:
  Identities now() const {
    Identities all;
    collect_(all);
    return all;
  }

  Collect collect_;
  Identities before_;
};

}  // namespace riesz::detail
