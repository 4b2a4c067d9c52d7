// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/alike.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/partition/pairing.h"

namespace riesz {
namespace {

std::vector<std::int64_t> collect_numbers(const Partition& partition, std::int64_t mine) {
  std::vector<std::int64_t> numbers;
  for (const at::Tensor& theirs : collect("CheckAlike", partition, at::full({1}, mine, at::kLong))) {
    numbers.push_back(theirs.item<std::int64_t>());
  }
  return numbers;
}

}  // namespace

void check_alike(const Partition& partition, const std::string& what, std::uint64_t number) {
  const std::vector<std::int64_t> numbers = collect_numbers(partition, static_cast<std::int64_t>(number));
  const auto other =
      std::find_if(numbers.begin(), numbers.end(), [&](auto theirs) { return theirs != numbers[0]; });
  RIESZ_CHECK(other == numbers.end(), what, " differs between rank 0 and rank ", other - numbers.begin(),
              "; every worker must have the same");
}

std::vector<std::string> collect_texts(const Partition& partition, const std::string& mine) {
  const auto lengths = collect_numbers(partition, static_cast<std::int64_t>(mine.size()));
  const at::Tensor padded = at::zeros({*std::max_element(lengths.begin(), lengths.end())}, at::kByte);
  std::copy(mine.begin(), mine.end(), padded.mutable_data_ptr<std::uint8_t>());
  std::vector<std::string> texts;
  for (const at::Tensor& theirs : collect("CheckAlike", partition, padded)) {
    const auto* bytes = theirs.const_data_ptr<std::uint8_t>();
    texts.emplace_back(bytes, bytes + lengths[texts.size()]);
  }
  return texts;
}

std::uint64_t digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace riesz
