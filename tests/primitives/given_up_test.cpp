// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// An operator that an exception leaves on one worker: the others get an error soon, and all may go on.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>

#include "riesz/comm/runtime.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

/// While it lives, the host has no memory for a tensor of so many bytes.
class NoRoomFor final : public c10::Allocator {
 public:
  explicit NoRoomFor(std::size_t bytes) : bytes_(bytes) { c10::SetCPUAllocator(this, kFirst); }
  ~NoRoomFor() override { c10::SetCPUAllocator(others_, kFirst); }
  NoRoomFor(const NoRoomFor&) = delete;
  NoRoomFor& operator=(const NoRoomFor&) = delete;

  c10::DataPtr allocate(std::size_t bytes) override {
    TORCH_CHECK_WITH(OutOfMemoryError, bytes != bytes_, "no room for ", bytes, " bytes");
    return others_->allocate(bytes);
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static constexpr std::uint8_t kFirst = 100;
  c10::Allocator* const others_ = c10::GetCPUAllocator();
  std::size_t bytes_;
};

/// Rank 0 has no room for so many doubles.
void expect_given_up(const Operator& A, std::int64_t doubles) {
  SCOPED_TRACE(to_string(A));
  const at::Tensor x = at::full(A.domain().local_shape(), 1., at::kDouble);
  if (Runtime::rank() != 0) {
    EXPECT_ERROR(A(Vector(A.domain(), x)), "rank 0 gave up before it sent ",
                 "an exception has left that call");
    return;
  }
  const NoRoomFor full(8 * static_cast<std::size_t>(doubles));
  EXPECT_THROW(A(Vector(A.domain(), x)), c10::OutOfMemoryError);
}

/// By way of the columns: two steps, of which the second is not begun where the first one fails.
Operator sum_by_columns(std::int64_t columns) {
  const Space S = Space(Partition::world(), {3, columns}).partial("world");
  const Space pieces = Space(Partition::world(), {3, columns}).sharded(1, "world");
  return between(pieces, S.copied("world")) * between(S, pieces);
}

/// Small messages go before there is room for what comes; a result above 16 KiB has its room before.
TEST(GivenUp, TheOthersAreTold) {
  const int n = Runtime::size();
  if (n != 2 && n != 3) return;
  const at::NoGradGuard no_gradient;
  expect_given_up(sum_by_columns(60 * n), 3 * 60);      // its first round has gone
  expect_given_up(sum_by_columns(6000 * n), 3 * 6000);  // no round has, of larger messages
  const Space X = Space(Partition::world(), {1500 * n}).sharded(0, "world");
  expect_given_up(between(X, X.copied("world")), 1500 * n);  // no small message has
  const Space S = Space(Partition::world(), {5}).partial("world");
  const Vector sum = between(S, S.copied("world"))(Vector(S, at::full({5}, 1., at::kDouble)));
  EXPECT_SAME_BITS(sum.local(), at::full({5}, n, at::kDouble));
}

}  // namespace
}  // namespace riesz
