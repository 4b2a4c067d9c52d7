// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "riesz/testing/pretend_device/arguments.h"

namespace riesz::testing::pretend {

/// What the kernels of the CPU make of arguments, whatever the values in their tensors.
struct Learned {
  /// A tensor that has memory of its own; undefined without a type.
  struct Made {
    Extents sizes, strides;
    std::optional<at::ScalarType> type;
  };
  struct Result {
    std::optional<std::size_t> argument;  // the one that is written and given back
    bool list = false;
    std::vector<Made> made = {};
  };

  std::vector<Result> results;
  std::vector<Extents> written;  // the sizes of what is written, afterwards
};

/// Learned once for each signature, by a call on the CPU with zeros, or with ones where these are refused.
/// @throws what the CPU throws of such arguments.
std::shared_ptr<const Learned> learned(const c10::OperatorHandle& op, const std::vector<Argument>& arguments);

}  // namespace riesz::testing::pretend
