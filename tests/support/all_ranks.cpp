// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/all_ranks.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <memory>
#include <thread>

#include "riesz/comm/runtime.h"
#include "riesz/comm/transports/mpi.h"

namespace riesz::testing {
namespace {

constexpr int kTag = 1;

at::Tensor bytes(std::int64_t count) { return at::empty({count}, at::kByte); }

/// One tensor to every rank, one from every rank; `sizes` in bytes, by rank. An empty one is not sent.
std::vector<at::Tensor> swap(Transport& transport, const at::Tensor& mine,
                             const std::vector<std::int64_t>& sizes) {
  std::vector<at::Tensor> all;
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (int rank = 0; rank < Runtime::size(); ++rank) {
    const bool me = rank == Runtime::rank();
    all.push_back(me ? mine : bytes(sizes[static_cast<std::size_t>(rank)]));
    if (me) continue;
    if (mine.numel() > 0) sends.push_back({rank, kTag, mine});
    if (all.back().numel() > 0) receives.push_back({rank, kTag, all.back()});
  }
  const std::unique_ptr<Requests> messages = transport.post(sends, receives);
  while (!messages->done()) std::this_thread::yield();
  return all;
}

}  // namespace

AllRanks::AllRanks() : transport_(std::make_unique<MpiTransport>()) {}
AllRanks::~AllRanks() = default;

std::vector<std::string> AllRanks::gather(const std::string& mine) {
  const auto length = static_cast<std::int64_t>(mine.size());
  at::Tensor mine_length = bytes(sizeof(length));
  std::memcpy(mine_length.data_ptr(), &length, sizeof(length));
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(Runtime::size()), sizeof(length));
  const std::vector<at::Tensor> sent = swap(*transport_, mine_length, lengths);
  for (std::size_t rank = 0; rank < sent.size(); ++rank) {
    std::memcpy(&lengths[rank], sent[rank].data_ptr(), sizeof(length));
  }
  at::Tensor text = bytes(length);
  if (length > 0) std::memcpy(text.data_ptr(), mine.data(), mine.size());
  std::vector<std::string> texts;
  for (const at::Tensor& theirs : swap(*transport_, text, lengths)) {
    texts.emplace_back(static_cast<const char*>(theirs.const_data_ptr()),
                       static_cast<std::size_t>(theirs.numel()));
  }
  return texts;
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    text += (begin == 0 ? "" : ", ") + std::to_string(ranks[begin]);
    if (end - begin > 1) text += "-" + std::to_string(ranks[end - 1]);
  }
  return text;
}

}  // namespace riesz::testing
