// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/time.h>

#include <csignal>
#include <cstddef>
#include <memory>

#include "riesz/comm/runtime.h"
#include "riesz/comm/shared/memory.h"

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

volatile std::sig_atomic_t signals = 0;

/// A signal each millisecond, as a profiler sends them; a call that it interrupts is not taken up again.
class Signals {
 public:
  Signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { signals = signals + 1; };
    sigaction(SIGALRM, &action, &before_);
    every(1000);
  }
  ~Signals() {
    every(0);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  static void every(suseconds_t microseconds) {
    const itimerval interval{{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &interval, nullptr);
  }

  struct sigaction before_ = {};
};

TEST(SharedMemory, IsMadeWhateverSignalsCome) {
  if (Runtime::rank() != 0) return;
  constexpr std::size_t kBytes = (std::size_t{128} << 20) + 5;
  const Signals profiler;

  const std::unique_ptr<SharedMemory> memory = SharedMemory::make(kBytes);

  memory->data()[kBytes - 1] = std::byte{1};
  EXPECT_GT(signals, 1);  // else the test has proved nothing
}

}  // namespace
}  // namespace riesz
