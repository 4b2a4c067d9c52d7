// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/room.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace riesz {
namespace {

TEST(Room, IsATensorOfThatTypeAndShape) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kLong, at::kBool}) {
    for (const std::int64_t n : {0, 1, 3000, 5000, 9000}) {
      at::Tensor room = room_for({n, 2}, at::TensorOptions().dtype(type));
      EXPECT_EQ(room.sizes(), at::IntArrayRef({n, 2}));
      EXPECT_EQ(room.scalar_type(), type);
      EXPECT_TRUE(room.is_contiguous() && room.is_cpu());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.data_ptr()) % 64, 0U) << "aligned as LibTorch's are";
      room.resize_({n + 1, 2}).fill_(1);
    }
  }
}

/// A loop finds its result's memory in the cache.
TEST(Room, IsTheOneThatWasFreedLast) {
  if (::dlsym(RTLD_DEFAULT, "mallctl") == nullptr) return;  // another allocator than jemalloc
  for (const std::int64_t bytes : {1000, 16 << 10, 17 << 10, 30000}) {
    std::set<const void*> places;
    for (int i = 0; i < 50; ++i)
      places.insert(room_for({bytes}, at::TensorOptions().dtype(at::kByte)).const_data_ptr());
    EXPECT_EQ(places.size(), 1U) << bytes << " bytes";
  }
}

}  // namespace
}  // namespace riesz
