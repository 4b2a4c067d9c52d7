// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/safetensors/types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian, and so is its data");

/// In the format's order.
constexpr std::array<std::pair<const char*, at::ScalarType>, 17> kTypes = {{{"BOOL", at::kBool},
                                                                            {"U8", at::kByte},
                                                                            {"I8", at::kChar},
                                                                            {"F8_E5M2", at::kFloat8_e5m2},
                                                                            {"F8_E4M3", at::kFloat8_e4m3fn},
                                                                            {"F8_E8M0", at::kFloat8_e8m0fnu},
                                                                            {"I16", at::kShort},
                                                                            {"U16", at::kUInt16},
                                                                            {"F16", at::kHalf},
                                                                            {"BF16", at::kBFloat16},
                                                                            {"I32", at::kInt},
                                                                            {"U32", at::kUInt32},
                                                                            {"F32", at::kFloat},
                                                                            {"C64", at::kComplexFloat},
                                                                            {"F64", at::kDouble},
                                                                            {"I64", at::kLong},
                                                                            {"U64", at::kUInt64}}};

}  // namespace

std::optional<at::ScalarType> safetensors_type(std::string_view name) {
  for (const auto& [known, type] : kTypes) {
    if (name == known) return type;
  }
  return std::nullopt;
}

int safetensors_order(at::ScalarType type) {
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& known) { return known.second == type; });
  RIESZ_CHECK(found != kTypes.end(), "safetensors has no type ", type, "; it has ", safetensors_names());
  return static_cast<int>(found - kTypes.begin());
}

const char* safetensors_name(at::ScalarType type) {
  return kTypes[static_cast<std::size_t>(safetensors_order(type))].first;
}

std::string safetensors_names() {
  std::string all;
  for (const auto& [name, type] : kTypes) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

}  // namespace riesz
