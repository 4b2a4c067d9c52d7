// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "riesz/testing/pretend_device/place.h"

namespace riesz::testing::pretend {

/// A tensor that an operator is given.
struct Operand {
  std::optional<Place> place;  // of the device's
  at::Tensor host;             // else the CPU's, without dims, or undefined
};

/// An argument of an operator, as queued work keeps it.
struct Argument {
  enum class Kind { value, generator, tensor, tensors, optional_tensors };

  Kind kind;
  c10::IValue value;  // of one that has no tensors; a generator is for one call, and copied for each run
  std::vector<Operand> operands;
  bool written;
};

/// The arguments of a call, of which the last on the stack are given.
/// @throws c10::Error if tensors are on another device.
std::vector<Argument> arguments_of(const c10::OperatorHandle& op, const std::vector<c10::IValue>& given);

/// The arguments for the CPU's kernel, with what `tensor_of` makes of places.
torch::jit::Stack on_cpu(const std::vector<Argument>& arguments,
                         const std::function<at::Tensor(const Place&)>& tensor_of);

/// Names all of a call that the shapes of its results depend on; nothing if it has an argument of a kind that
/// has no text.
std::optional<std::string> signature(const c10::OperatorHandle& op, const std::vector<Argument>& arguments);

/// The argument whose memory a result has, since the operator writes it.
std::optional<std::size_t> written_argument(const c10::FunctionSchema& schema, std::size_t result);

}  // namespace riesz::testing::pretend
