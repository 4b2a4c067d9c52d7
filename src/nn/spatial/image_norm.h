// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
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

/// Does the norm `whose` take the moments of its call, as in training? @throws Error without a context.
bool takes_moments(const std::string& whose);

/// Moves a running moment by `share`, a scalar, towards `now` times `factor`. Collective over both
/// partitions.
void move_towards(Parameter& running, const Vector& now, double factor, const at::Tensor& share);

/// d·(weight/√(variance + ε)) + bias, in one product and one sum of d's size. The variance has the indices
/// `by`, some of x's.
Vector scaled(const Vector& d, const Vector& variance, const std::string& by, double epsilon,
              const std::optional<Parameter>& weight, const std::optional<Parameter>& bias);

/// x normed in each channel by running moments: (x − mean)/√(variance + ε)·weight + bias, in x's type.
Vector by_running_moments(const Vector& x, const Parameter& mean, const Parameter& variance, double epsilon,
                          const std::optional<Parameter>& weight, const std::optional<Parameter>& bias);

}  // namespace riesz::detail
