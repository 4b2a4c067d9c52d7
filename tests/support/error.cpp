// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/error.h"

#include "riesz/comm/error.h"

namespace riesz::testing {

::testing::AssertionResult throws_error(const std::function<void()>& statement,
                                        const std::vector<std::string>& parts) {
  try {
    statement();
  } catch (const Error& error) {
    const std::string message = error.what();
    std::string missing;
    for (const std::string& part : parts) {
      if (message.find(part) == std::string::npos) missing += "\n  \"" + part + "\"";
    }
    if (missing.empty()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "\nthrows an Error that does not say" << missing << "\nbut\n"
                                         << message;
  }
  return ::testing::AssertionFailure() << "\nthrows no riesz::Error";
}

}  // namespace riesz::testing
