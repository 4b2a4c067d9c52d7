// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>

namespace riesz {
namespace {

TEST(SharedMemory, IsOpenedAtItsAddress) {
  const auto made = SharedMemory::make(100);
  const auto opened = SharedMemory::open(made->address());
  ASSERT_NE(opened, nullptr);

  made->data()[99] = std::byte{7};

  EXPECT_NE(opened->data(), made->data());
  EXPECT_EQ(opened->bytes(), 100U);
  EXPECT_EQ(opened->data()[0], std::byte{0});
  EXPECT_EQ(opened->data()[99], std::byte{7});
}

/// In another PID namespace an address leads to whatever has these numbers there: a memory of another worker,
/// or this worker's own.
TEST(SharedMemory, IsNotOpenedWhereAnotherLies) {
  const auto made = SharedMemory::make(100);
  const auto same_size = SharedMemory::make(100);
  const auto another_size = SharedMemory::make(5000);
  const auto moved = [&](const SharedMemory& to) {
    SharedMemory::Address address = made->address();
    address.descriptor = to.address().descriptor;
    return address;
  };

  EXPECT_EQ(SharedMemory::open(moved(*same_size)), nullptr);
  EXPECT_EQ(SharedMemory::open(moved(*another_size)), nullptr);
  EXPECT_NE(SharedMemory::open(moved(*made)), nullptr);
}

TEST(SharedMemory, IsNotOpenedWhereThereIsNone) {
  SharedMemory::Address address = SharedMemory::make(100)->address();

  EXPECT_EQ(SharedMemory::open(address), nullptr) << "it has gone with its maker";
  for (const int descriptor : {0, 1, 2}) {
    address.descriptor = descriptor;
    EXPECT_EQ(SharedMemory::open(address), nullptr);
  }
}

}  // namespace
}  // namespace riesz
