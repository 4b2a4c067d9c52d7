// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What is said besides where a memory is full.
#include "riesz/comm/out_of_memory.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <new>
#include <stdexcept>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string remedy_of(const std::function<void()>& throwing) {
  try {
    throwing();
  } catch (...) {
    return out_of_memory_remedy(std::current_exception());
  }
  return "nothing was thrown";
}

void fill_device() { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory"); }
/// More than an address has bits for.
void fill_host() { at::empty({std::int64_t{1} << 60}, at::kByte); }

const auto names_the_settings = AllOf(HasSubstr("more train.micro_batches or a smaller train.batch"),
                                      HasSubstr("layout.recompute = \"blocks\""), HasSubstr("layout.zero"),
                                      HasSubstr("precision = \"bf16\""), HasSubstr("riesz plan-memory"));

TEST(OutOfMemory, OfADeviceNamesTheSettings) {
  EXPECT_THAT(remedy_of(fill_device), AllOf(names_the_settings, Not(HasSubstr("the host has"))));
  EXPECT_THAT(remedy_of([] { TORCH_CHECK(false, "CUDA error: out of memory"); }), names_the_settings);
}

TEST(OutOfMemory, OfTheHostSaysWhatIsLeft) {
  const auto says =
      AllOf(names_the_settings, ::testing::StartsWith("; the host has "), HasSubstr(" bytes left\n"));
  EXPECT_THAT(remedy_of(fill_host), says);
  EXPECT_THAT(remedy_of([] { throw std::bad_alloc(); }), says);
}

TEST(OutOfMemory, IsSeenBehindAnotherException) {
  const auto nested = [](const std::function<void()>& inner) {
    try {
      inner();
    } catch (...) {
      std::throw_with_nested(Error("in micro-batch 3"));
    }
  };
  EXPECT_THAT(remedy_of([&] { nested([&] { nested(fill_device); }); }), names_the_settings);
  EXPECT_EQ(remedy_of([&] { nested([] { throw_error("another"); }); }), "");
}

TEST(OutOfMemory, IsNoOtherException) {
  EXPECT_EQ(remedy_of([] { throw_error("CUDA out of memory, says a program"); }), "");
  EXPECT_EQ(remedy_of([] { TORCH_CHECK(false, "another"); }), "");
  EXPECT_EQ(remedy_of([] { throw std::runtime_error("another"); }), "");
  EXPECT_EQ(remedy_of([] { throw 3; }), "");
}

}  // namespace
}  // namespace riesz
