// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace riesz::testing {

/// A number as the bytes of a file.
template <typename T>
std::string raw(T number) {
  std::string bytes(sizeof number, ' ');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

/// A text as GGUF has it: its length and its bytes.
inline std::string counted(const std::string& text) { return raw(std::uint64_t{text.size()}) + text; }

/// The bytes of a GGUF file, piece by piece.
class GgufBytes {
 public:
  /// A value of any kind, as its bytes.
  GgufBytes& add(const std::string& key, std::uint32_t kind, const std::string& value) {
    metadata_ += counted(key) + raw(kind) + value;
    ++keys_;
    return *this;
  }
  GgufBytes& text(const std::string& key, const std::string& value) { return add(key, 8, counted(value)); }
  GgufBytes& integer(const std::string& key, std::uint32_t value) { return add(key, 4, raw(value)); }
  GgufBytes& number(const std::string& key, float value) { return add(key, 6, raw(value)); }
  GgufBytes& flag(const std::string& key, bool value) {
    return add(key, 7, value ? "\x01" : std::string(1, '\0'));
  }
  GgufBytes& texts(const std::string& key, const std::vector<std::string>& values) {
    std::string all = raw(std::uint32_t{8}) + raw(std::uint64_t{values.size()});
    for (const std::string& value : values) all += counted(value);
    return add(key, 9, all);
  }
  GgufBytes& integers(const std::string& key, const std::vector<std::int32_t>& values) {
    std::string all = raw(std::uint32_t{5}) + raw(std::uint64_t{values.size()});
    for (const std::int32_t value : values) all += raw(value);
    return add(key, 9, all);
  }

  /// The dims as the file has them, those of a row first.
  GgufBytes& tensor(const std::string& name, const std::vector<std::int64_t>& dims, std::uint32_t type,
                    const std::string& data) {
    infos_ += counted(name) + raw(static_cast<std::uint32_t>(dims.size()));
    for (const std::int64_t n : dims) infos_ += raw(n);
    infos_ += raw(type) + raw(std::uint64_t{data_.size()});
    data_ += data;
    pad(data_);
    ++tensors_;
    return *this;
  }

  std::string bytes(std::uint32_t version = 3) const {
    std::string all = "GGUF" + raw(version) + raw(tensors_) + raw(keys_) + metadata_ + infos_;
    pad(all);
    return all + data_;
  }

 private:
  static void pad(std::string& bytes) { bytes.resize((bytes.size() + 31) / 32 * 32); }

  std::string metadata_, infos_, data_;
  std::uint64_t keys_ = 0, tensors_ = 0;
};

}  // namespace riesz::testing
