// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The stand-in for NCCL: what it moves, and each rule, broken on purpose.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "stand.h"

namespace riesz::testing {
namespace {

TEST_F(Stand, AGroupSendsAndReceivesAtOnce) {
  for (int i = 0; i < 4; ++i) {
    const at::Tensor x = numbers(10 * me() + i), y = nothing();
    EXPECT_EQ(lib.group_start(), Result::success);
    EXPECT_EQ(send(x, next()), Result::success);
    EXPECT_EQ(recv(y, before()), Result::success);
    EXPECT_EQ(lib.group_end(), Result::success);
    EXPECT_SAME_BITS(y.cpu(), numbers(10 * before() + i).cpu());
  }
  EXPECT_EQ(in.calls("ncclSend"), 4);
  EXPECT_EQ(fault(), "");
}

TEST_F(Stand, CollectivesAreNccls) {
  const at::Tensor x = numbers(me()), sum = nothing(), all = nothing(5 * size()), part = nothing(1);
  EXPECT_EQ(
      lib.all_reduce(x.data_ptr(), sum.data_ptr(), 5, Type::float32, nccl::Reduction::sum, comm, stream()),
      Result::success);
  EXPECT_EQ(lib.all_gather(x.data_ptr(), all.data_ptr(), 5, Type::float32, comm, stream()), Result::success);
  const at::Tensor terms = numbers(me(), size());
  EXPECT_EQ(lib.reduce_scatter(terms.data_ptr(), part.data_ptr(), 1, Type::float32, nccl::Reduction::sum,
                               comm, stream()),
            Result::success);
  const double ranks = size() * (size() - 1) / 2.;
  EXPECT_SAME_BITS(sum.cpu(), at::arange(5, at::kFloat).mul(size()).add(ranks));
  for (int rank = 0; rank < size(); ++rank)
    EXPECT_SAME_BITS(all.cpu().narrow(0, 5 * rank, 5), numbers(rank).cpu());
  EXPECT_SAME_BITS(part.cpu(), at::full({1}, ranks + size() * me(), at::kFloat));
  EXPECT_EQ(fault(), "");
}

TEST_F(Stand, CountsOfAPairMatch) {
  if (size() != 2) return;
  if (me() == 0) send(numbers(0, 4), 1);
  const at::Tensor y = nothing(5);
  if (me() == 1) recv(y, 0);
  soon();
  EXPECT_THAT(fault_anywhere(),
              AllOf(HasSubstr("of 4 elements of type 7"), HasSubstr("of 5 elements of type 7")));
}

TEST_F(Stand, TypesOfAPairMatch) {
  if (size() != 2) return;
  if (me() == 0) send(numbers(0), 1, Type::int32);
  const at::Tensor y = nothing();
  if (me() == 1) recv(y, 0);
  soon();
  EXPECT_THAT(fault_anywhere(), AllOf(HasSubstr("elements of type 2"), HasSubstr("elements of type 7")));
}

TEST_F(Stand, WithinAPairOrderDecides) {
  if (size() != 2) return;
  const at::Tensor a = nothing(3), b = nothing(4);
  lib.group_start();
  if (me() == 0) {
    send(a, 1);
    send(b, 1);
  } else {
    recv(b, 0);
    recv(a, 0);
  }
  lib.group_end();
  soon();
  EXPECT_THAT(fault_anywhere(), AllOf(HasSubstr("sent 12 bytes of Byte in ncclSend to ncclRecv of 3"),
                                      HasSubstr("expects 16 bytes")));
}

TEST_F(Stand, ASendWaitsForItsReceive) {
  if (size() != 2) return;
  soon();
  const at::Tensor x = numbers(me()), y = nothing();
  send(x, next());  // both ends send first, outside a group
  recv(y, before());
  EXPECT_THAT(fault_anywhere(), AllOf(HasSubstr("NCCL would hang: ncclSend of 5 elements to rank 1"),
                                      HasSubstr("NCCL would hang: ncclSend of 5 elements to rank 0")));
}

TEST_F(Stand, CallsOfACommunicatorRunInOneOrderOnAllStreams) {
  if (size() != 2) return;
  soon();
  const at::Tensor x = numbers(me()), y = nothing();
  const auto reduce = [&](void* on) {
    lib.all_reduce(x.data_ptr(), y.data_ptr(), 5, Type::float32, nccl::Reduction::sum, comm, on);
  };
  const auto gather = [&](void* on) {
    lib.all_gather(x.data_ptr(), y.data_ptr(), 2, Type::float32, comm, on);
  };
  if (me() == 0) {
    reduce(stream());
    gather(other_stream());
  } else {
    gather(stream());
    reduce(other_stream());
  }
  EXPECT_THAT(fault_anywhere(),
              AllOf(HasSubstr("ncclAllReduce of 5 elements"), HasSubstr("ncclAllGather of 2")));
}

TEST_F(Stand, SelfSendsNeedAGroup) {
  soon();
  const at::Tensor x = numbers(3), y = nothing();
  lib.group_start();
  send(x, me());
  recv(y, me());
  lib.group_end();
  EXPECT_EQ(fault(), "");
  EXPECT_SAME_BITS(y.cpu(), x.cpu());
  send(x, me());
  EXPECT_THAT(fault(), HasSubstr("NCCL would hang: ncclSend"));
}

TEST_F(Stand, GroupsHaveOneStreamForEachCommunicator) {
  const at::Tensor x = numbers(3), y = nothing();
  lib.group_start();
  send(x, me());
  lib.recv(y.data_ptr(), 5, Type::float32, me(), comm, other_stream());
  EXPECT_EQ(lib.group_end(), Result::invalid_usage);
  EXPECT_THAT(lib.get_last_error(comm), HasSubstr("on several streams"));
}

TEST_F(Stand, GroupsBeginBeforeTheyEnd) {
  EXPECT_EQ(lib.group_end(), Result::invalid_usage);
  EXPECT_THAT(lib.get_last_error(nullptr), HasSubstr("no group has begun"));
}

TEST_F(Stand, RanksAreThoseOfTheCommunicator) {
  EXPECT_EQ(send(numbers(0), size()), Result::invalid_argument);
  EXPECT_THAT(lib.get_last_error(comm), HasSubstr("ncclSend: rank "));
}

TEST_F(Stand, NobodyCallsACommunicatorAfterItsEnd) {
  EXPECT_EQ(lib.comm_abort(comm), Result::success);
  EXPECT_EQ(send(numbers(0), 0), Result::invalid_argument);
  EXPECT_THAT(lib.get_last_error(comm), HasSubstr("destroyed or aborted"));
  EXPECT_EQ(lib.comm_destroy(comm), Result::invalid_argument);
}

TEST_F(Stand, AnAbortEndsWhatWaits) {
  const at::Tensor y = nothing();
  lib.group_start();
  recv(y, me());
  lib.group_end();
  EXPECT_EQ(lib.comm_abort(comm), Result::success);
  EXPECT_EQ(fault(), "");  // or it would wait for 20 s
}

TEST_F(Stand, ACommunicatorIsReadyBeforeItIsCalled) {
  const nccl::UniqueId id = shared_id();
  nccl::Comm late = nullptr;
  if (me() > 0) meet();
  EXPECT_EQ(lib.comm_init_rank(&late, size(), id, me(), 0), Result::in_progress);
  if (me() == 0 && size() > 1) {
    const at::Tensor x = numbers(0);
    EXPECT_EQ(lib.send(x.data_ptr(), 5, Type::float32, 0, late, stream()), Result::invalid_usage);
    EXPECT_THAT(lib.get_last_error(late), HasSubstr("is not ready"));
  }
  if (me() == 0) meet();
  EXPECT_EQ(settled(late), Result::success);
}

/// The first group of a pair: until the other rank has begun its own, it is in progress.
TEST_F(Stand, RanksMeetInTheirFirstGroup) {
  if (size() != 2) return;
  const nccl::Comm late = made_without_blocking();
  const at::Tensor x = numbers(me()), y = nothing();
  if (me() == 1) meet();
  lib.group_start();
  EXPECT_EQ(lib.send(x.data_ptr(), 5, Type::float32, next(), late, stream()), Result::success);
  EXPECT_EQ(lib.recv(y.data_ptr(), 5, Type::float32, next(), late, stream()), Result::success);
  EXPECT_EQ(lib.group_end(), Result::in_progress);
  if (me() == 0) {
    Result state = Result::success;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    lib.comm_get_async_error(late, &state);
    EXPECT_EQ(state, Result::in_progress);
    EXPECT_EQ(lib.send(x.data_ptr(), 5, Type::float32, 1, late, stream()), Result::invalid_usage);
    EXPECT_THAT(lib.get_last_error(late), HasSubstr("is not ready"));
    meet();
  }
  EXPECT_EQ(settled(late), Result::success);
  EXPECT_SAME_BITS(y.cpu(), numbers(next()).cpu());
  lib.group_start();
  lib.send(x.data_ptr(), 5, Type::float32, next(), late, stream());
  lib.recv(y.data_ptr(), 5, Type::float32, next(), late, stream());
  EXPECT_EQ(lib.group_end(), Result::success);  // they have met
  EXPECT_EQ(fault(), "");
}

TEST_F(Stand, ARankThatNobodyMeetsIsNamed) {
  if (size() != 2) return;
  const nccl::Comm late = made_without_blocking();
  soon();
  const at::Tensor x = numbers(me());
  if (me() == 0) {
    EXPECT_EQ(lib.send(x.data_ptr(), 5, Type::float32, 1, late, stream()), Result::in_progress);
    EXPECT_EQ(settled(late), Result::invalid_usage);
  }
  EXPECT_THAT(fault_anywhere(), HasSubstr("waits for the first group of rank 1"));
}

/// All ranks in the first of a collective, unless NCCL has connected them before.
TEST_F(Stand, RanksMeetInACollective) {
  const at::Tensor x = numbers(me()), y = nothing();
  const std::string before = std::getenv("NCCL_RUNTIME_CONNECT") != nullptr ? "0" : "";
  for (const char* at_once : {"1", "0"}) {
    setenv("NCCL_RUNTIME_CONNECT", at_once, 1);
    const nccl::Comm late = made_without_blocking();
    const bool meets = std::string(at_once) == "1" && size() > 1;
    EXPECT_EQ(
        lib.all_reduce(x.data_ptr(), y.data_ptr(), 5, Type::float32, nccl::Reduction::sum, late, stream()),
        meets ? Result::in_progress : Result::success);
    EXPECT_EQ(settled(late), Result::success);
  }
  if (before.empty()) unsetenv("NCCL_RUNTIME_CONNECT");
  EXPECT_EQ(fault(), "");
}

TEST_F(Stand, AnIdMakesOneCommunicator) {
  const nccl::UniqueId id = shared_id();
  nccl::Comm first = nullptr, second = nullptr;
  EXPECT_EQ(lib.comm_init_rank(&first, size(), id, me(), 1), Result::success);
  EXPECT_EQ(lib.comm_init_rank(&second, size(), id, me(), 1), Result::invalid_usage);
  EXPECT_THAT(lib.get_last_error(nullptr), HasSubstr("each needs an id of its own"));
}

TEST_F(Stand, RanksShareNoDevice) {
  if (size() != 2) return;
  in.set_identity("bus 1");
  nccl::Comm other = nullptr;
  EXPECT_EQ(made(&other, 2, me()), Result::invalid_usage);
  EXPECT_THAT(fault_anywhere(), HasSubstr("Duplicate GPU detected: rank 0 and rank 1 both on device bus 1"));
}

TEST_F(Stand, EachRankComesOnce) {
  if (size() != 2) return;
  nccl::Comm other = nullptr;
  EXPECT_EQ(made(&other, 2, 0), Result::invalid_usage);
  EXPECT_THAT(fault_anywhere(), HasSubstr("rank 0 comes twice"));
}

TEST_F(Stand, AllSayHowManyTheyAre) {
  if (size() != 2) return;
  soon();
  nccl::Comm other = nullptr;
  EXPECT_EQ(made(&other, 2 + me(), me()), Result::invalid_usage);
  EXPECT_THAT(fault_anywhere(), HasSubstr("one rank says that there are 2, another 3"));
}

TEST_F(Stand, AllComeToBeMade) {
  if (size() != 2) return;
  soon();
  const nccl::UniqueId id = shared_id();
  nccl::Comm other = nullptr;
  const Result result = me() == 0 ? lib.comm_init_rank(&other, 2, id, 0, 1) : Result::invalid_usage;
  EXPECT_EQ(result, Result::invalid_usage);
  EXPECT_THAT(fault_anywhere(), HasSubstr("ncclCommInitRank: "));
}

TEST_F(Stand, OneThreadCallsACommunicatorAtATime) {
  std::atomic<int> refused = 0;
  const at::Tensor x = numbers(0), y = nothing();
  const auto call = [&, on = stream()] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {  // the threads meet long before
      lib.group_start();
      for (int i = 0; i < 200; ++i) {
        lib.send(x.data_ptr(), 5, Type::float32, me(), comm, on);
        lib.recv(y.data_ptr(), 5, Type::float32, me(), comm, on);
      }
      if (lib.group_end() != Result::success) return void(++refused);
      if (refused > 0) return;
    }
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_GE(refused, 1);
  EXPECT_THAT(lib.get_last_error(comm), HasSubstr("another thread is calling"));
  lib.comm_abort(comm);
}

}  // namespace
}  // namespace riesz::testing
