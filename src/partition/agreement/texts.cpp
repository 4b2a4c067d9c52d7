// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/agreement/texts.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>

#include "riesz/comm/host_value.h"

namespace riesz {

std::vector<std::string> exchange_texts(
    const std::string& mine, const std::function<std::vector<at::Tensor>(const at::Tensor& mine)>& exchange) {
  std::vector<std::int64_t> lengths;
  for (const at::Tensor& length : exchange(at::full({1}, static_cast<std::int64_t>(mine.size()), at::kLong)))
    lengths.push_back(host_value(length, static_cast<std::int64_t>(mine.size())));
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  if (longest == 0) return std::vector<std::string>(lengths.size());
  const at::Tensor padded = at::zeros({longest}, at::kByte);
  std::copy(mine.begin(), mine.end(), padded.mutable_data_ptr<std::uint8_t>());
  std::vector<std::string> texts;
  for (const at::Tensor& theirs : exchange(padded)) {
    const auto* bytes = theirs.const_data_ptr<std::uint8_t>();
    texts.emplace_back(bytes, bytes + lengths[texts.size()]);
  }
  return texts;
}

}  // namespace riesz
