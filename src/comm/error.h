// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace riesz {

/// What bad use throws: what was attempted, the operands with their spaces, the rule and the remedy, prefixed by
/// the worker that saw it. It is thrown before any communication, on every worker alike where the inputs are alike.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

/// Sets what every later message of this process begins with, such as "[rank 2 of 4] "; `Runtime` calls it.
void set_error_prefix(std::string prefix);

/// Throws `Error` with this process's prefix in front of the message.
[[noreturn]] void throw_error(const std::string& message);

/// The parts written one after another, as `std::ostream` writes them.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace riesz

/// Throws `riesz::Error` with the parts as its message unless the condition holds; the parts are evaluated only then.
#define RIESZ_CHECK(condition, ...)                                    \
  do {                                                                 \
    if (!(condition)) ::riesz::throw_error(::riesz::concat(__VA_ARGS__)); \
  } while (false)
