// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/huge_pages.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "riesz/generation/generate.h"
#include "riesz/models/text_model.h"

namespace riesz {
namespace {

constexpr std::int64_t kMB = 1 << 20;

/// This program's memory in huge pages, in kB.
std::int64_t in_huge_pages() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t size = 0;
    if (words >> name >> size && name == "AnonHugePages:") return size;
  }
  return 0;
}

/// Does the system move a page of this program's own into a huge one?
bool system_can() {
  const std::size_t size = 4 * kMB;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  static_cast<char*>(memory)[size / 2] = 1;
  const auto page = (reinterpret_cast<std::uintptr_t>(memory) + 2 * kMB - 1) / (2 * kMB) * (2 * kMB);
  reinterpret_cast<char*>(page)[0] = 1;
  const bool can = madvise(reinterpret_cast<void*>(page), 2 * kMB, 25) == 0;
  munmap(memory, size);
  return can;
}

/// First of these: memory that was in huge pages once stays in them, also for other tensors.
TEST(HugePages, GetTheWeightsOfAModelThatWrites) {
  models::LlamaConfig config{.layers = 1, .heads = 2, .key_value_heads = 1, .width = 64};
  config.hidden = 64, config.vocabulary = 1 << 18, config.context = 8;
  const auto model =
      models::make_causal_model(spaces::one_d(Partition::simulated(1).grid({{"tp", 1}})), config);
  model->module().initialise(1, at::kFloat);
  std::vector<at::Tensor> weights;
  for (const Parameter& parameter : model->module().parameters()) weights.push_back(parameter.leaf());
  if (HugePages(weights).left() == 0) return;
  generate(models::text_model(*model), {{1, 2}}, {.tokens = 3});
  EXPECT_TRUE(!system_can() || in_huge_pages() >= 2 * 1024);
}

TEST(HugePages, HoldTheSameValuesAtTheSamePlaces) {
  const at::Tensor weights = at::arange(20 * kMB, at::kFloat), copy = weights.clone();
  const void* place = weights.const_data_ptr();
  HugePages pages({weights, at::empty({0})});
  if (pages.left() == 0) return;  // the system's setting is "never"
  EXPECT_GE(pages.left(), 40U);
  EXPECT_LE(pages.left(), 41U);
  const std::int64_t before = in_huge_pages();
  pages.move(std::numeric_limits<double>::infinity());
  EXPECT_EQ(pages.left(), 0U);
  EXPECT_TRUE(!system_can() || in_huge_pages() - before >= 38 * 2 * 1024) << in_huge_pages() << " " << before;
  EXPECT_EQ(weights.const_data_ptr(), place);
  EXPECT_TRUE(at::equal(weights, copy));
}

TEST(HugePages, TakeNoMoreTimeThanTheyAreGiven) {
  const at::Tensor weights = at::arange(20 * kMB, at::kFloat);
  HugePages pages({weights});
  const std::size_t all = pages.left();
  if (all == 0) return;
  pages.move(0);
  EXPECT_EQ(pages.left(), all - 1);  // what one costs is known only when the first has been moved
  pages.move(0);
  EXPECT_EQ(pages.left(), all - 1);
}

TEST(HugePages, AreNotForWhatFitsACache) {
  EXPECT_EQ(HugePages({at::arange(15 * kMB, at::kFloat)}).left(), 0U);
}

}  // namespace
}  // namespace riesz
