// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "riesz/comm/error.h"

namespace riesz::testing {
namespace {

using ::testing::HasSubstr;

void fail() { throw_error("a space of 3 workers on 4"); }

TEST(ThrowsError, HoldsIfEveryPartIsThere) {
  EXPECT_ERROR(fail(), "3 workers");
  EXPECT_ERROR(fail(), "a space", "on 4");
}

TEST(ThrowsError, NamesWhatTheMessageLacks) {
  const ::testing::AssertionResult result = throws_error(fail, {"3 workers", "remedy"});

  ASSERT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("does not say\n  \"remedy\"\nbut\n"));
  EXPECT_THAT(result.message(), HasSubstr("a space of 3 workers on 4"));
}

TEST(ThrowsError, FailsIfNothingIsThrown) {
  const ::testing::AssertionResult result = throws_error([] {}, {});

  ASSERT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("throws no riesz::Error"));
}

TEST(ThrowsError, LetsOtherExceptionsThrough) {
  EXPECT_THROW(throws_error([] { throw std::logic_error("other"); }, {}), std::logic_error);
}

}  // namespace
}  // namespace riesz::testing
