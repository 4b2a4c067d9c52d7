// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace riesz {

/// The kinds of values of a GGUF file's metadata, by their numbers in the file.
enum class GgufKind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, flag, text, list, u64, i64, f64 };

/// "an integer", "a list", …
std::string to_string(GgufKind kind);

/// A list of values of one kind. Numbers are widened to the widest type of their sort.
struct GgufList {
  GgufKind kind = GgufKind::u8;
  std::variant<std::vector<bool>, std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>,
               std::vector<std::string>, std::vector<GgufList>>
      elements;

  std::size_t size() const;
};

struct GgufValue {
  GgufKind kind = GgufKind::u8;
  std::variant<bool, std::uint64_t, std::int64_t, double, std::string, GgufList> value;
};

/// The metadata of a GGUF file, beside its tensors. Each call that asks for a value
/// @throws Error naming the file and the key where it is missing (and there is no `otherwise`) or of another
/// kind.
class GgufMetadata {
 public:
  GgufMetadata() = default;
  GgufMetadata(std::string file, std::map<std::string, GgufValue> values);

  const std::map<std::string, GgufValue>& all() const { return values_; }
  bool has(const std::string& key) const { return values_.contains(key); }

  std::int64_t integer(const std::string& key, std::optional<std::int64_t> otherwise = {}) const;
  /// An fp32 is the fp64 number that is written alike: 1e-05, not 9.999999747378752e-06.
  double number(const std::string& key, std::optional<double> otherwise = {}) const;
  bool flag(const std::string& key, std::optional<bool> otherwise = {}) const;
  std::string text(const std::string& key, std::optional<std::string> otherwise = {}) const;
  const std::vector<std::string>& texts(const std::string& key) const;
  std::vector<std::int64_t> integers(const std::string& key) const;

  /// @throws Error naming the file and the key, and then `why`, such as "is 3; …".
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const;

 private:
  const GgufValue* find(const std::string& key, bool needed) const;
  [[noreturn]] void refuse_kind(const std::string& key, const GgufValue& value, const char* wanted) const;

  std::string file_;
  std::map<std::string, GgufValue> values_;
};

}  // namespace riesz
