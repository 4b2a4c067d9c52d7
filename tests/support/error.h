// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace riesz::testing {

/// Did `statement` throw a riesz::Error whose message has each of `parts`? What is missing is said.
::testing::AssertionResult throws_error(const std::function<void()>& statement,
                                        const std::vector<std::string>& parts);

}  // namespace riesz::testing

/// Expects that the statement throws a riesz::Error whose message contains each of the texts.
#define EXPECT_ERROR(statement, ...)                                                                \
  switch (0)                                                                                        \
  case 0:                                                                                           \
  default:                                                                                          \
    if (const ::testing::AssertionResult riesz_result =                                             \
            ::riesz::testing::throws_error([&] { static_cast<void>(statement); }, {__VA_ARGS__})) { \
    } else                                                                                          \
      ADD_FAILURE() << #statement << riesz_result.message()
