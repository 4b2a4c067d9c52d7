// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/lanes.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "riesz/comm/error.h"

namespace riesz::detail {
namespace {

constexpr std::array<std::string_view, 3> kNames{"plain", "avx2", "avx512"};  // as in Registers

Registers widest() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Registers::plain;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return wide ? Registers::avx512 : Registers::avx2;
#else
  return Registers::plain;
#endif
}

Registers chosen() {
  const char* const text = std::getenv("RIESZ_LANES");
  const Registers has = widest();
  if (text == nullptr) return has;
  const auto* const name = std::find(kNames.begin(), kNames.end(), std::string_view(text));
  RIESZ_CHECK(name != kNames.end(), "RIESZ_LANES is \"", text, "\"; it must be plain, avx2 or avx512");
  const auto asked = static_cast<Registers>(name - kNames.begin());
  RIESZ_CHECK(asked <= has, "RIESZ_LANES is ", text, ", but this processor has ",
              kNames[static_cast<std::size_t>(has)], " at most");
  return asked;
}

}  // namespace

Registers registers() {
  static const Registers all = chosen();
  return all;
}

}  // namespace riesz::detail
