// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Orders of calls in which NCCL would hang: each is found, and the calls are named.
#include <chrono>
#include <string>
#include <thread>

#include "riesz/comm/error.h"
#include "stand.h"

namespace riesz::testing {
namespace {

class Orders : public Stand {
 protected:
  void reduce(nccl::Comm of, void* on) {
    EXPECT_EQ(lib.all_reduce(x.data_ptr(), y.data_ptr(), 5, Type::float32, nccl::Reduction::sum, of, on),
              Result::success);
  }

  const at::Tensor x = numbers(me()), y = nothing();
};

/// A device may have room for one kernel of NCCL's, whatever streams the two are in.
TEST_F(Orders, CommunicatorsAreCalledInOneOrderOnAllStreams) {
  if (size() != 2) return;
  nccl::Comm other = nullptr;
  ASSERT_EQ(made(&other, 2, 1 - me()), Result::success);
  reduce(comm, stream());
  reduce(other, other_stream());
  EXPECT_EQ(fault_anywhere(), "");

  soon();
  reduce(me() == 0 ? comm : other, stream());
  reduce(me() == 0 ? other : comm, other_stream());
  const std::string call = "ncclAllReduce of 5 elements in the communicator of ranks ";
  EXPECT_THAT(fault_anywhere(), AllOf(HasSubstr("NCCL would hang: " + call +
                                                "0, 1 waits, and the other end does not come; "
                                                "behind it: " +
                                                call + "1, 0"),
                                      HasSubstr("NCCL would hang: " + call +
                                                "1, 0 waits, and the other end does not come; "
                                                "behind it: " +
                                                call + "0, 1")));
}

TEST_F(Orders, AGroupIsClosed) {
  soon();
  EXPECT_EQ(lib.group_start(), Result::success);
  EXPECT_EQ(send(x, next()), Result::success);
  const std::string call = concat("ncclSend of 5 elements to rank ", next());
  EXPECT_THAT(fault(), HasSubstr("the group that begins with " + call));
  if (size() == 2 && me() == 0) {
    EXPECT_EQ(recv(y, 1), Result::success);
    EXPECT_EQ(lib.group_end(), Result::success);
    EXPECT_THAT(fault(), HasSubstr("NCCL would hang: " + call));  // the other's is still open
  }
  meet();
  lib.comm_abort(comm);
  lib.group_end();
  EXPECT_EQ(fault(), "");
}

/// Also one that another thread has begun, once it is open for longer than a call may wait.
TEST_F(Orders, AGroupOfAnotherThreadIsClosed) {
  std::thread([] { lib.group_start(); }).join();
  EXPECT_EQ(fault(), "");
  in.set_standstill(std::chrono::milliseconds(0));
  EXPECT_THAT(fault(), HasSubstr("the group that begins with no call yet is not closed"));
}

/// Each sends to the next, outside a group.
TEST_F(Orders, SendsInACircleHang) {
  if (size() == 1) return;
  soon();
  send(x, next());
  recv(y, before());
  EXPECT_THAT(fault(), HasSubstr(concat("NCCL would hang: ncclSend of 5 elements to rank ", next())));
}

TEST_F(Orders, CountsOfACollectiveAreOne) {
  if (size() != 2) return;
  soon();
  EXPECT_EQ(lib.all_reduce(x.data_ptr(), y.data_ptr(), static_cast<std::size_t>(4 + me()), Type::float32,
                           nccl::Reduction::sum, comm, stream()),
            Result::success);
  EXPECT_THAT(fault_anywhere(), AllOf(HasSubstr("ncclAllReduce of 4 elements of type 7"),
                                      HasSubstr("ncclAllReduce of 5 elements of type 7")));
}

}  // namespace
}  // namespace riesz::testing
