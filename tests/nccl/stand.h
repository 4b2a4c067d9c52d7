// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/nccl_stand_in.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {

using nccl::Result;
using nccl::Type;
using ::testing::HasSubstr;

inline const nccl::Functions& lib = NcclStandIn::functions();

inline int me() { return Runtime::rank(); }
inline int size() { return Runtime::size(); }

inline void* stream() {
  return c10::impl::VirtualGuardImpl(pretend_device().type()).getStream(pretend_device()).native_handle();
}
inline void* other_stream() {
  return c10::impl::VirtualGuardImpl(pretend_device().type())
      .getStreamFromGlobalPool(pretend_device(), false)
      .native_handle();
}

inline at::Tensor numbers(double first, std::int64_t count = 5) {
  return at::arange(count, at::kFloat).add(first).to(pretend_device());
}
inline at::Tensor nothing(std::int64_t count = 5) {
  return at::full({count}, -1., at::device(pretend_device()).dtype(at::kFloat));
}

/// Rank 0's id, on all ranks.
inline nccl::UniqueId shared_id() {
  nccl::UniqueId id{};
  const at::Tensor bytes = at::full({nccl::UniqueId::kBytes}, 0, at::kByte);
  if (me() == 0) {
    EXPECT_EQ(lib.get_unique_id(&id), Result::success);
    std::memcpy(bytes.mutable_data_ptr(), &id, sizeof id);
  }
  std::vector<Transfer> sends, receives;
  for (int rank = 1; me() == 0 && rank < size(); ++rank) sends.push_back({rank, bytes});
  if (me() != 0) receives.push_back({0, bytes});
  Communicator::world().exchange("id", sends, receives);
  std::memcpy(&id, bytes.const_data_ptr(), sizeof id);
  return id;
}

/// A barrier of the processes, not of their devices.
inline void meet() {
  std::vector<int> others;
  for (int rank = 0; rank < size(); ++rank)
    if (rank != me()) others.push_back(rank);
  Communicator::world().host_allgather("meet", others, at::full({1}, 0, at::kByte));
}

/// Waits until no call of the communicator is in progress; its state then.
inline Result settled(nccl::Comm comm) {
  Result state = Result::in_progress;
  while (state == Result::in_progress) lib.comm_get_async_error(comm, &state);
  return state;
}

/// A communicator of all ranks whose calls return while they are in progress.
inline nccl::Comm made_without_blocking() {
  nccl::Comm comm = nullptr;
  EXPECT_EQ(lib.comm_init_rank(&comm, size(), shared_id(), me(), 0), Result::in_progress);
  EXPECT_EQ(settled(comm), Result::success);
  return comm;
}

inline Result made(nccl::Comm* comm, int ranks, int rank) {
  return lib.comm_init_rank(comm, ranks, shared_id(), rank, 1);
}

/// The stand-in, and a communicator of all ranks.
class Stand : public ::testing::Test {
 protected:
  Stand() {
    in.set_standstill(std::chrono::seconds(20));
    if (made(&comm, size(), me()) != Result::success) throw std::runtime_error("no communicator");
  }
  ~Stand() override { meet(); }

  /// Waits for all that is queued; what went wrong in it.
  std::string fault() {
    finish_pretend_work();
    std::string all;
    for (const std::string& each : in.faults()) all += each + "\n";
    return all;
  }
  /// What went wrong on some rank.
  std::string fault_anywhere() {
    const std::string mine = fault();
    const at::Tensor text = at::full({600}, 0, at::kByte);
    mine.copy(static_cast<char*>(text.mutable_data_ptr()), 599);
    std::vector<int> others;
    for (int rank = 0; rank < size(); ++rank)
      if (rank != me()) others.push_back(rank);
    std::string all = mine;
    for (const at::Tensor& each : Communicator::world().host_allgather("faults", others, text))
      all += static_cast<const char*>(each.const_data_ptr());
    return all;
  }
  Result send(const at::Tensor& x, int peer, Type type = Type::float32) {
    return lib.send(x.data_ptr(), static_cast<std::size_t>(x.numel()), type, peer, comm, stream());
  }
  Result recv(const at::Tensor& x, int peer, Type type = Type::float32) {
    return lib.recv(x.data_ptr(), static_cast<std::size_t>(x.numel()), type, peer, comm, stream());
  }
  void soon() { in.set_standstill(std::chrono::milliseconds(300)); }
  int next() const { return (me() + 1) % size(); }
  int before() const { return (me() + size() - 1) % size(); }

  NcclStandIn in;
  nccl::Comm comm = nullptr;
};

}  // namespace riesz::testing
