// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What is said on a machine without a driver of NVIDIA. Elsewhere this is not part of the tests.
#include <gtest/gtest.h>

#include <string>
#include <typeinfo>

#include "riesz/comm/device.h"
#include "riesz/comm/device_library.h"
#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/nn/kernels/device_lists.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

const at::Device kGpuOfNone(at::kCUDA, 0);

TEST(CudaLibrary, SaysThatThereIsNoDriver) {
  EXPECT_ERROR(check_kernels_for(kGpuOfNone),
               "device cuda:0: the CUDA runtime of libriesz_cuda.so cannot use it: ",
               "install a driver for CUDA 13.0 or newer", "take device = \"cpu\"");
  EXPECT_ERROR(device_of_this_rank(at::kCUDA), "device cuda: this host has no driver of NVIDIA",
               "libcuda.so.1", "take device = \"cpu\"");
  detail::load_cuda_library("a test", "");
  using Sum = kernels::SumOfElement<float, float>;
  const Launch launch = detail::found_launch(at::kCUDA, typeid(Sum).name(), sizeof(Sum));
  const Sum sum{};
  const char* const wrong = launch(&sum, 1, 1, nullptr);
  ASSERT_NE(wrong, nullptr);
  EXPECT_NE(std::string(wrong), "");
}

}  // namespace
}  // namespace riesz::testing
