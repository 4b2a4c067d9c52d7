// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace riesz {

/// A tensor with a copy of some bytes, to be sent.
at::Tensor copy_of_bytes(const void* bytes, std::size_t count);

/// A tensor with the bytes of a plain struct, for messages between processes of one program. Private to
/// src/comm.
template <class Struct>
at::Tensor bytes_of(const Struct& value) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  return copy_of_bytes(&value, sizeof value);
}

/// @post struct_of<Struct>(bytes_of(value)) is value
template <class Struct>
Struct struct_of(const at::Tensor& bytes) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  Struct value;
  std::memcpy(&value, bytes.const_data_ptr(), sizeof value);
  return value;
}

}  // namespace riesz
