// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/gguf/types.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

static_assert(std::endian::native == std::endian::little, "what is read here is little-endian");

constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ40 = 2, kQ41 = 3, kQ80 = 8, kBF16 = 30;
constexpr std::int64_t kBlock = 32;

constexpr std::array<GgufType, 6> kTypes = {{{kF32, "F32", 1, 4},
                                             {kF16, "F16", 1, 2},
                                             {kBF16, "BF16", 1, 2},
                                             {kQ80, "Q8_0", kBlock, 34},
                                             {kQ40, "Q4_0", kBlock, 18},
                                             {kQ41, "Q4_1", kBlock, 20}}};

/// Those that ggml has and that are not read here.
const std::map<std::uint32_t, const char*>& other_names() {
  static const std::map<std::uint32_t, const char*> names = {
      {6, "Q5_0"},   {7, "Q5_1"},    {9, "Q8_1"},   {10, "Q2_K"},    {11, "Q3_K"},   {12, "Q4_K"},
      {13, "Q5_K"},  {14, "Q6_K"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},
      {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},   {23, "IQ4_XS"}, {24, "I8"},
      {25, "I16"},   {26, "I32"},    {27, "I64"},   {28, "F64"},     {29, "IQ1_M"},  {34, "TQ1_0"},
      {35, "TQ2_0"}, {39, "MXFP4"},  {40, "NVFP4"}, {41, "Q1_0"}};
  return names;
}

float half_at(const std::uint8_t* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return static_cast<float>(c10::Half(bits, c10::Half::from_bits()));
}

/// The low halves of 16 bytes, then the high ones: x = (q − zero)·d + m.
void nibbles(const std::uint8_t* q, float zero, float d, float m, float* out) {
  for (std::int64_t i = 0; i < kBlock / 2; ++i) {
    out[i] = (static_cast<float>(q[i] & 0xf) - zero) * d + m;
    out[i + kBlock / 2] = (static_cast<float>(q[i] >> 4) - zero) * d + m;
  }
}

void one_block(std::uint32_t type, const std::uint8_t* at, float* out) {
  const float d = half_at(at);
  if (type == kQ80) {
    for (std::int64_t i = 0; i < kBlock; ++i)
      out[i] = static_cast<float>(static_cast<std::int8_t>(at[2 + i])) * d;
  } else if (type == kQ40) {
    nibbles(at + 2, 8, d, 0, out);
  } else {
    nibbles(at + 4, 0, d, half_at(at + 2), out);
  }
}

template <typename T>
void numbers(const void* from, std::int64_t count, float* out) {
  const auto* in = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; ++i) {
    T x;
    std::memcpy(&x, in + i * static_cast<std::int64_t>(sizeof x), sizeof x);
    out[i] = static_cast<float>(x);
  }
}

}  // namespace

const GgufType* gguf_type(std::uint32_t number) {
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const GgufType& type) { return type.number == number; });
  return found == kTypes.end() ? nullptr : found;
}

std::string gguf_type_name(std::uint32_t number) {
  if (const GgufType* type = gguf_type(number)) return type->name;
  const auto found = other_names().find(number);
  return found == other_names().end() ? concat("number ", number) : found->second;
}

std::string gguf_type_names() {
  std::string all;
  for (const GgufType& type : kTypes) all += (all.empty() ? "" : ", ") + std::string(type.name);
  return all;
}

void dequantise(const GgufType& type, const void* blocks, std::int64_t count, float* out) {
  if (type.number == kF32) {
    std::memcpy(out, blocks, static_cast<std::size_t>(count * type.bytes));
  } else if (type.number == kF16) {
    numbers<c10::Half>(blocks, count, out);
  } else if (type.number == kBF16) {
    numbers<c10::BFloat16>(blocks, count, out);
  } else {
    const auto* at = static_cast<const std::uint8_t*>(blocks);
    for (std::int64_t i = 0; i < count; ++i) one_block(type.number, at + i * type.bytes, out + i * kBlock);
  }
}

}  // namespace riesz
