// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/parameter.h"
#include "riesz/partition/vector.h"

namespace riesz::detail {

/// A letter for each dim of an image or field: "bchw" of four.
std::string image_letters(const Space& X);

/// Its dims of space.
std::vector<int> dims_of_space(const Space& X);

/// @throws Error on behalf of `whose` unless X has a batch, channels of a known extent, and space.
void check_image_norm(const std::string& whose, const Space& X);

/// x in at least fp32.
Vector in_full(const Vector& x);

/// d·(weight/√(variance + ε)) + bias, in one product and one sum of d's size. The variance has the indices
/// `by`, some of x's.
Vector scaled(const Vector& d, const Vector& variance, const std::string& by, double epsilon,
              const std::optional<Parameter>& weight, const std::optional<Parameter>& bias);

}  // namespace riesz::detail
