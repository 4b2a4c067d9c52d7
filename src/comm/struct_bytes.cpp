// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/struct_bytes.h"

#include <ATen/ops/empty.h>

#include <cstdint>

namespace riesz {

at::Tensor copy_of_bytes(const void* bytes, std::size_t count) {
  at::Tensor copy = at::empty({static_cast<std::int64_t>(count)}, at::kByte);
  std::memcpy(copy.mutable_data_ptr(), bytes, count);
  return copy;
}

}  // namespace riesz
