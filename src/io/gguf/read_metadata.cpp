// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/gguf/read_metadata.h"

#include <map>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

constexpr std::int64_t kLongestKey = 65535;
constexpr int kDeepest = 8;
constexpr std::uint32_t kKinds = 13;

GgufKind read_kind(HeadReader& in, const char* what) {
  const auto number = in.number<std::uint32_t>(what);
  if (number >= kKinds) in.refuse(concat(what, " is ", number, "; there are 0 to ", kKinds - 1));
  return static_cast<GgufKind>(number);
}

/// The bytes of a value in a file; of texts and lists, the fewest.
std::int64_t bytes_of(GgufKind kind) {
  switch (kind) {
    case GgufKind::u8:
    case GgufKind::i8:
    case GgufKind::flag:
      return 1;
    case GgufKind::u16:
    case GgufKind::i16:
      return 2;
    case GgufKind::u32:
    case GgufKind::i32:
    case GgufKind::f32:
      return 4;
    case GgufKind::list:
      return 12;
    default:
      return 8;
  }
}

bool read_truth(HeadReader& in) {
  const auto byte = in.number<std::uint8_t>("its value");
  if (byte > 1) in.refuse(concat("it is true or false, and its byte is ", int{byte}, ", neither 1 nor 0"));
  return byte == 1;
}

/// Calls `take` with a function that reads one value, of the type that values of this kind are kept in.
/// Lists are not among them.
template <typename Take>
void with_reader(HeadReader& in, GgufKind kind, const Take& take) {
  const auto numbers = [&]<typename Narrow, typename Wide>(Narrow, Wide) {
    take([&] { return static_cast<Wide>(in.number<Narrow>("its value")); });
  };
  constexpr std::uint64_t kUnsigned = 0;
  constexpr std::int64_t kSigned = 0;
  switch (kind) {
    case GgufKind::u8:
      return numbers(std::uint8_t{}, kUnsigned);
    case GgufKind::u16:
      return numbers(std::uint16_t{}, kUnsigned);
    case GgufKind::u32:
      return numbers(std::uint32_t{}, kUnsigned);
    case GgufKind::u64:
      return numbers(std::uint64_t{}, kUnsigned);
    case GgufKind::i8:
      return numbers(std::int8_t{}, kSigned);
    case GgufKind::i16:
      return numbers(std::int16_t{}, kSigned);
    case GgufKind::i32:
      return numbers(std::int32_t{}, kSigned);
    case GgufKind::i64:
      return numbers(std::int64_t{}, kSigned);
    case GgufKind::f32:
      return numbers(float{}, double{});
    case GgufKind::f64:
      return numbers(double{}, double{});
    case GgufKind::flag:
      return take([&] { return read_truth(in); });
    default:
      return take([&] { return in.text("its text"); });
  }
}

GgufList read_list(HeadReader& in, int deep) {
  if (deep > kDeepest) in.refuse(concat("lists within lists more than ", kDeepest, " deep"));
  GgufList list{.kind = read_kind(in, "the kind of its elements")};
  const std::int64_t count = in.count("its list", bytes_of(list.kind));
  if (list.kind == GgufKind::list) {
    auto& lists = list.elements.emplace<std::vector<GgufList>>();
    for (std::int64_t i = 0; i < count; ++i) lists.push_back(read_list(in, deep + 1));
    return list;
  }
  with_reader(in, list.kind, [&](const auto& read) {
    auto& all = list.elements.emplace<std::vector<decltype(read())>>();
    all.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) all.push_back(read());
  });
  return list;
}

GgufValue read_value(HeadReader& in) {
  GgufValue value{.kind = read_kind(in, "its kind")};
  if (value.kind == GgufKind::list)
    value.value = read_list(in, 1);
  else
    with_reader(in, value.kind, [&](const auto& read) { value.value = read(); });
  return value;
}

}  // namespace

GgufMetadata read_metadata(HeadReader& in, const std::string& file, std::int64_t count) {
  std::map<std::string, GgufValue> values;
  for (std::int64_t i = 0; i < count; ++i) {
    in.at_place(concat("metadata ", i + 1, " of ", count));
    const std::string key = in.text("its key", kLongestKey);
    if (key.empty()) in.refuse("its key is empty");
    in.at_place("metadata " + in_quotes(key));
    if (!values.emplace(key, read_value(in)).second) in.refuse("the key stands there twice");
  }
  in.at_place("");
  return {file, std::move(values)};
}

}  // namespace riesz
