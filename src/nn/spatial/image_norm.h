// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What the norms of images share. Errors begin with `whose`, such as "BatchNorm model.norm".
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

#include "riesz/nn/spatial/norm_parameters.h"
#include "riesz/partition/vector.h"

namespace riesz::detail {

/// A letter for each dim of an image or field: "bchw" of four.
std::string image_letters(const Space& X);

/// Makes a layer's parameter.
using MakeParameter = std::function<Parameter(const std::string&, const Space&, const ParameterOptions&)>;

/// The parameters of a norm in X: with `affine` weight and bias, and with `running` the running moments.
/// @throws Error unless X has a batch, channels of a known extent and 1 to 3 spatial dims, and is neither
/// Partial nor Copied on any axis.
NormParameters norm_parameters(const std::string& whose, const Space& X, bool affine, bool running,
                               const MakeParameter& make);

/// x in at least fp32.
Vector in_full(const Vector& x);

/// Does the norm take the moments of its call, as in training? @throws Error without a context.
bool takes_moments(const std::string& whose);

/// Moves the running moments by `share`, a scalar, towards those of n elements, whose variance becomes
/// unbiased. Collective over both partitions.
void move_towards(NormParameters& parameters, const Vector& mean, const Vector& variance, std::int64_t n,
                  const at::Tensor& share);

/// d·(weight/√(variance + ε)) + bias, in one product and one sum of d's size. The variance has the letters
/// `letters`, some of d's.
Vector scaled(const Vector& d, const Vector& variance, const std::string& letters, double epsilon,
              const NormParameters& parameters);

/// x normed in each channel by running moments: (x − mean)/√(variance + ε)·weight + bias, in x's type.
Vector by_running_moments(const Vector& x, double epsilon, const NormParameters& parameters);

}  // namespace riesz::detail
