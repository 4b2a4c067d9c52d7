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

/// Replaces a function's arguments, the last of a stack, by results of the right shapes, without values.
using ShapeRule = void (*)(std::vector<c10::IValue>* stack, std::size_t arguments);

/// For the functions that LibTorch has no shapes of without values; nullptr: there is none. Private to this
/// room.
ShapeRule shape_rule(const c10::FunctionSchema& schema);

}  // namespace riesz
