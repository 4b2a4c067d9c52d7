// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/agreement/alike.h"

#include <ATen/ops/full.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <memory>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/wait.h"
#include "riesz/partition/agreement/comparison.h"
#include "riesz/partition/agreement/texts.h"
#include "riesz/partition/pairing.h"

namespace riesz {
namespace {

const Operation& operation() {
  static const Operation all("CheckAlike");
  return all;
}

/// How long a call waits for the others: so long that they are in time unless their order is another one.
/// Several workers may wait so, one after the other, before the deadline of who waits for them all.
std::chrono::duration<double> patience() {
  const std::chrono::duration<double> most = std::chrono::seconds(3);
  return deadline().count() > 0 ? std::min(most, deadline() / 20) : most;
}

void wait_for_a_while(Comparison& comparison) {
  const auto end = std::chrono::steady_clock::now() + patience();
  const auto over = [&] { return !checks_are_waited_for() || std::chrono::steady_clock::now() > end; };
  wait_until(
      comparison.text(), [&] { return comparison.advance() || over(); },
      [&] { return comparison.awaited(); });
}

}  // namespace

void check_alike(const Partition& partition, const std::string& what, std::uint64_t number) {
  const at::Tensor mine = at::full({1}, static_cast<std::int64_t>(number), at::kLong);
  const std::vector<at::Tensor> numbers = collect(operation(), partition, mine);
  const auto number_of = [](const at::Tensor& of) { return *of.const_data_ptr<std::int64_t>(); };
  const auto other = std::find_if(numbers.begin(), numbers.end(), [&](const at::Tensor& theirs) {
    return number_of(theirs) != number_of(numbers.front());
  });
  RIESZ_CHECK(other == numbers.end(), what, " differs between rank 0 and rank ", other - numbers.begin(),
              "; every worker must have the same");
}

void check_alike(const std::string& what, const Space& X, const at::Tensor& local) {
  throw_unreported_failure();
  const std::shared_ptr<Comparison> comparison = Comparison::begin(what, X, local);
  if (comparison == nullptr) return;
  if (checks_are_waited_for()) wait_for_a_while(*comparison);
  if (comparison->advance()) return comparison->wait();
  wait_for_checks_no_more();
  comparison->keep_copy();
  run_in_background(comparison);
}

std::vector<std::string> collect_texts(const Partition& partition, const std::string& mine) {
  return exchange_texts(mine,
                        [&](const at::Tensor& tensor) { return collect(operation(), partition, tensor); });
}

std::uint64_t digest(const void* bytes, std::size_t count) {
  constexpr std::uint64_t p = 0x9e3779b185ebca87, q = 0xc2b2ae3d27d4eb4f;
  const auto round = [](std::uint64_t lane, std::uint64_t word) {
    return std::rotl(lane + word * q, 31) * p;
  };
  const auto* at = static_cast<const std::byte*>(bytes);
  std::uint64_t lanes[4] = {p + q, q, 0, 0 - p};
  std::size_t left = count;
  for (; left >= sizeof lanes; left -= sizeof lanes, at += sizeof lanes) {
    std::uint64_t words[4];
    std::memcpy(words, at, sizeof words);
    for (int i = 0; i < 4; ++i) lanes[i] = round(lanes[i], words[i]);
  }
  std::uint64_t words[4] = {};
  if (left > 0) std::memcpy(words, at, left);
  std::uint64_t hash = count;
  for (int i = 0; i < 4; ++i) hash = round(round(hash, lanes[i]), words[i]);
  hash = (hash ^ (hash >> 33)) * q;
  return hash ^ (hash >> 29);
}

std::uint64_t digest(const std::string& text) { return digest(text.data(), text.size()); }

}  // namespace riesz
