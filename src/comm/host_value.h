// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

#include "riesz/comm/simulation.h"

namespace riesz {

/// Reads the value of a one-element tensor on which the program decides. Of a device's tensor it waits for
/// the device; `LateValue`, `LateNumber` and `check_later` do not. In a `Simulation` values mean nothing.
/// There it returns `instead`, the value that a normal step would read.
template <typename T>
T host_value(const at::Tensor& element, T instead) {
  return Simulation::running() ? instead : element.item<T>();
}

/// The same for all elements of a tensor; in a `Simulation` each of them is `instead`.
template <typename T>
std::vector<T> host_values(const at::Tensor& x, T instead) {
  if (Simulation::running()) return std::vector<T>(static_cast<std::size_t>(x.numel()), instead);
  const at::Tensor here = x.cpu().contiguous();
  return {here.const_data_ptr<T>(), here.const_data_ptr<T>() + here.numel()};
}

}  // namespace riesz
