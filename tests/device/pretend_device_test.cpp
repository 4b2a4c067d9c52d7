// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The pretend device itself: what a test on it proves.
#include "riesz/testing/pretend_device.h"

#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "riesz/testing/parts.h"
#include "there.h"

namespace riesz::testing {
namespace {

const at::TensorOptions kThere = at::TensorOptions().device(pretend_device()).dtype(at::kDouble);

/// Asks the kernel, which says no where a program would end.
bool readable(const void* address) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const bool read = write(ends[1], address, 8) == 8;
  EXPECT_TRUE(read || errno == EFAULT);
  for (const int end : ends) close(end);
  return read;
}

TEST(PretendDevice, HasMemoryThatOnlyItsOperationsRead) {
  const at::Tensor here = at::arange(5, at::kDouble);
  const at::Tensor there = here.to(pretend_device());

  EXPECT_TRUE(readable(here.const_data_ptr()));
  EXPECT_FALSE(readable(there.const_data_ptr()));
  EXPECT_FALSE(readable(there.narrow(0, 2, 2).const_data_ptr()));
  EXPECT_EQ(there.device().str(), "pretend:0");
  EXPECT_SAME_BITS(there.cpu(), here);
  EXPECT_EQ(there[3].item<double>(), 3);
}

TEST(PretendDevice, ComputesAsTheCpu) {
  const at::Tensor a = at::arange(6, at::kDouble).view({2, 3});
  const at::Tensor b = at::arange(12, at::kDouble).view({3, 4});
  const at::Tensor a_there = a.to(pretend_device());

  expect_there(at::mm(a_there, b.to(pretend_device())), at::mm(a, b));
  expect_there(at::add(a_there.t(), 2.5), at::add(a.t(), 2.5).contiguous());
  expect_there(at::cat({a_there, a_there}, 1), at::cat({a, a}, 1));
  expect_there(at::arange(1, 4, kThere), at::arange(1, 4, at::kDouble));
  expect_there(a_there.to(at::kBFloat16), a.to(at::kBFloat16));
  const auto [greatest, where] = a_there.max(1);
  expect_there(greatest, std::get<0>(a.max(1)));
  expect_there(where, std::get<1>(a.max(1)));
}

TEST(PretendDevice, WritesThroughViews) {
  const at::Tensor x = at::zeros({3, 4}, kThere);
  x.narrow(0, 1, 1).fill_(1);
  x.t()[2].add_(2);
  x.view({-1}).narrow(0, 0, 2).copy_(at::ones({2}));
  x.narrow(1, 4, 0).mul_(x.narrow(1, 4, 0));

  expect_there(x, at::tensor({1., 1., 2., 0., 1., 1., 3., 1., 0., 0., 2., 0.}).view({3, 4}));
}

TEST(PretendDevice, CopiesWhatIsPutOff) {
  const at::Tensor here = at::tensor(std::vector<c10::complex<double>>{{1, 2}, {3, -4}});
  const at::Tensor there = here.to(pretend_device());

  expect_there(there.conj().resolve_conj(), here.conj().resolve_conj());
  EXPECT_SAME_BITS(there.conj().cpu().resolve_conj(), here.conj().resolve_conj());
  expect_there(at::empty({2}, there.options()).copy_(there.conj()), here.conj().resolve_conj());
}

TEST(PretendDevice, RefusesTensorsOfTwoDevices) {
  const at::Tensor there = at::ones({2, 2}, kThere);
  const auto said = [](const auto& statement) -> std::string {
    try {
      statement();
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "nothing";
  };

  EXPECT_THAT(said([&] {
                at::add(there, at::ones({2, 2}, at::kDouble));
              }),
              ::testing::AllOf(::testing::HasSubstr("pretend:0"), ::testing::HasSubstr("cpu")));
  EXPECT_THAT(said([&] { at::mm(at::ones({2, 2}, at::kDouble), there); }), ::testing::HasSubstr("aten::mm"));
  EXPECT_THAT(said([&] { at::index_select(there, 0, at::zeros({1}, at::kLong)); }),
              ::testing::HasSubstr("cpu"));
  EXPECT_EQ(said([&] { at::add(there, at::ones({}, at::kDouble)); }), "nothing");
}

TEST(PretendDevice, HasAThreadOfItsOwnForGradients) {
  const at::Tensor x = at::ones({3}, kThere).requires_grad_();
  std::thread::id in;
  const at::Tensor y = x.mul(2);
  y.register_hook([&](const at::Tensor&) { in = std::this_thread::get_id(); });

  y.sum().backward();

  EXPECT_NE(in, std::this_thread::get_id());
  expect_there(x.grad(), at::ones({3}, at::kDouble).mul(2));
}

}  // namespace
}  // namespace riesz::testing
