// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/PhiloxRNGEngine.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "riesz/nn/random/random.h"

namespace riesz {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Random123's known answers for philox4x32, 10 rounds.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ULL, ~0ULL, ~0ULL), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsTheGeneratorOfLibTorch) {
  for (const std::uint64_t key : {std::uint64_t{1}, philox_key(7, "transformer.wte.weight")}) {
    for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{1} << 40}) {
      for (const std::uint64_t block : {std::uint64_t{0}, std::uint64_t{3}, (std::uint64_t{1} << 33) + 1}) {
        at::Philox4_32 theirs(key, step, block);
        const Words expected{theirs(), theirs(), theirs(), theirs()};

        EXPECT_EQ(philox(key, block, step), expected)
            << "key " << key << " block " << block << " step " << step;
      }
    }
  }
}

TEST(PhiloxKey, DiffersByNameAndSeed) {
  std::set<std::uint64_t> keys;
  int count = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (int layer = 0; layer < 50; ++layer) {
      keys.insert(philox_key(seed, "transformer.h." + std::to_string(layer) + ".attn.c_attn.weight"));
      ++count;
    }
    keys.insert(philox_key(seed, ""));
    ++count;
  }

  EXPECT_EQ(keys.size(), static_cast<std::size_t>(count));
}

TEST(PhiloxKey, IsOfNameAndSeedAlone) {
  const std::string name = "lm_head.weight";

  EXPECT_EQ(philox_key(3, name), philox_key(3, "lm_head.weight"));
  EXPECT_EQ(philox_key(3, name), 0x5168afdb42e9f153U);  // a checkpoint's seed keeps its meaning
}

}  // namespace
}  // namespace riesz
