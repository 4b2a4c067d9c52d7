// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <initializer_list>
#include <ostream>
#include <stdexcept>
#include <string>

namespace riesz {

/// The exception of Riesz. Its text begins with a prefix that names the worker (`set_error_prefix`). It says
/// what was attempted, the operands with their spaces, the rule and the remedy. An error of use is thrown
/// before any communication, and on every worker alike if their inputs are alike. An error that is found only
/// when a message arrives, such as a difference between the workers' programs, is thrown by the wait for that
/// message. If that is a background task's, another wait of this worker may throw it (`BackgroundTask`).
class Error : public std::runtime_error {
 public:
  /// `message`: the whole text, with the prefix. Code throws by `RIESZ_CHECK` or `throw_error`, which add it.
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

/// Sets the prefix of every later Error of this process, such as "[rank 2 of 4] ". `Runtime` calls it.
void set_error_prefix(std::string prefix);

/// Throws `Error` with this process's prefix in front of the message.
[[noreturn]] void throw_error(const std::string& message);

namespace detail {

/// A part of a text: a reference to any value, and how `std::ostream` writes it.
class Part {
 public:
  template <typename Value>
  Part(const Value& value) : value_(&value), write_(write_value<Value>) {}
  Part(const char* text) : value_(text), write_(write_text) {}
  template <std::size_t N>
  Part(const char (&text)[N]) : Part(static_cast<const char*>(text)) {}

  void write(std::ostream& out) const { write_(out, value_); }

 private:
  template <typename Value>
  static void write_value(std::ostream& out, const void* value) {
    out << *static_cast<const Value*>(value);
  }
  static void write_text(std::ostream& out, const void* text);

  const void* value_;
  void (*write_)(std::ostream&, const void*);
};

// Compiled once, and not for each list of types: the program has a thousand texts.
std::string joined_parts(std::initializer_list<Part> parts);
[[noreturn]] void throw_parts(std::initializer_list<Part> parts);

}  // namespace detail

/// The parts written one after another, as `std::ostream` writes them.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  return detail::joined_parts({parts...});
}

}  // namespace riesz

/// Throws `riesz::Error` with the parts as its message unless the condition holds. The parts are evaluated
/// only then. (The environment variable RIESZ_CHECK is something else: `consistency_checks`.)
#define RIESZ_CHECK(condition, ...)                                \
  do {                                                             \
    if (!(condition)) ::riesz::detail::throw_parts({__VA_ARGS__}); \
  } while (false)
