// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/new_tensor.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace riesz {
namespace {

TEST(NewTensor, IsATensorOfThatTypeAndShape) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kLong, at::kBool}) {
    for (const std::int64_t n : {0, 1, 3000, 5000, 9000}) {
      at::Tensor made = new_tensor({n, 2}, at::TensorOptions().dtype(type));
      EXPECT_EQ(made.sizes(), at::IntArrayRef({n, 2}));
      EXPECT_EQ(made.scalar_type(), type);
      EXPECT_TRUE(made.is_contiguous() && made.is_cpu());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made.data_ptr()) % 64, 0U) << "aligned as LibTorch's are";
      made.resize_({n + 1, 2}).fill_(1);
    }
  }
}

/// A loop finds its result's memory in the cache.
TEST(NewTensor, IsTheOneThatWasFreedLast) {
  if (::dlsym(RTLD_DEFAULT, "mallctl") == nullptr) return;  // another allocator than jemalloc
  for (const std::int64_t bytes : {1000, 16 << 10, 17 << 10, 30000}) {
    std::set<const void*> places;
    for (int i = 0; i < 50; ++i)
      places.insert(new_tensor({bytes}, at::TensorOptions().dtype(at::kByte)).const_data_ptr());
    EXPECT_EQ(places.size(), 1U) << bytes << " bytes";
  }
}

}  // namespace
}  // namespace riesz
