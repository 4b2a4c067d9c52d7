// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz::kernels {

/// Kernels of one kind, by their types. A kernel is an object of numbers and addresses with one of the calls
///
///     kernel(i)           // element i, with RIESZ_ELEMENT
///     kernel(team, row)   // a row, by all threads of a team, with RIESZ_ROW (nn/kernels/rows.h)
///
/// A device's library compiles the kernels of all lists, and `device_kernels.h` finds them by their types'
/// names. So a kernel is trivially copyable, its type is in no unnamed namespace, and its header includes
/// nothing of LibTorch.
template <typename... Kernels>
struct KernelList {};

}  // namespace riesz::kernels
