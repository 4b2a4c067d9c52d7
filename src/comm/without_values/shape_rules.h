// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

namespace c10 {
struct FunctionSchema;
struct IValue;
}  // namespace c10

namespace riesz {

/// A shape rule: a function that replaces the last `arguments` values of a stack, the arguments of a call, by
/// its results. These have the right shapes, and no values.
using ShapeRule = void (*)(std::vector<c10::IValue>* stack, std::size_t arguments);

/// The rule of a function whose shapes LibTorch does not find without values; nullptr: there is none. Private
/// to src/comm.
ShapeRule shape_rule(const c10::FunctionSchema& schema);

}  // namespace riesz
