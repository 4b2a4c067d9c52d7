// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/device.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include "../io/shared_folder.h"
#include "riesz/app/jobs/train.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/device_library.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

TEST(DeviceOfThisRank, IsTheCpu) { EXPECT_EQ(device_of_this_rank(at::kCPU), at::Device(at::kCPU)); }

/// There is one pretend device on a host, so its ranks share that.
TEST(DeviceOfThisRank, AddsInOneOrder) {
  at::Context& torch = at::globalContext();
  ASSERT_FALSE(torch.deterministicAlgorithms());
  Counters::instance().reset();
  EXPECT_EQ(device_of_this_rank(at::DeviceType::PrivateUse1), pretend_device());
  EXPECT_EQ(Counters::instance().total(), Traffic{});
  EXPECT_TRUE(torch.deterministicAlgorithms());
  EXPECT_FALSE(torch.deterministicAlgorithmsWarnOnly());
  EXPECT_FALSE(torch.allowTF32CuBLAS());
  EXPECT_FALSE(torch.allowTF32CuDNN());  // which LibTorch allows by itself
  allow_tf32(true);
  EXPECT_TRUE(torch.allowTF32CuBLAS() && torch.allowTF32CuDNN());
  allow_tf32(false);
  EXPECT_FALSE(torch.allowTF32CuBLAS() || torch.allowTF32CuDNN());
  torch.setDeterministicAlgorithms(false, false);
  torch.setDeterministicFillUninitializedMemory(true);
}

TEST(DeviceOfThisRank, IsAnErrorWhereThereIsNone) {
  EXPECT_ERROR(device_of_this_rank(at::DeviceType::HPU), "device hpu: this program is linked with no library",
               "take device = \"cpu\"");
}

/// The setting is for fp32 operands on GPUs. No GPU is needed to set it.
TEST(DeviceOfThisRank, ATrainingAllowsTf32ByItsKeyAlone) {
  if (Runtime::size() > 1) return;
  const SharedFolder folder;
  Config config;
  config.quiet = true;
  config.data.digits = 1;
  config.model.layers = config.model.heads = 1;
  config.model.width = 8, config.model.context = 3;
  config.train.steps = 1, config.train.batch = 2, config.train.eval_size = 2;
  config.schedule.warm_up = 0;
  config.checkpoint.save = false;
  config.output.folder = folder.path() / "run";
  for (const bool allowed : {true, false}) {
    config.tf32 = allowed;
    ::testing::internal::CaptureStdout();
    app::train(config);
    ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(at::globalContext().allowTF32CuBLAS(), allowed);
    EXPECT_EQ(at::globalContext().allowTF32CuDNN(), allowed);
  }
}

/// Versions are 22809 for 2.28.9.
TEST(DeviceOfThisRank, TakesNcclOfOneMinorVersionAlone) {
  detail::check_nccl_version(22809, 22803);
  EXPECT_ERROR(detail::check_nccl_version(22809, 22907), "NCCL 2.29.7 is loaded",
               "Riesz was compiled with 2.28.9", "same major and minor version");
  EXPECT_ERROR(detail::check_nccl_version(22809, 0), "NCCL does not say its version", "2.28.9");
}

/// Machine code runs within its major version, from its minor version on; PTX of the last runs from there on.
TEST(DeviceOfThisRank, TakesGpusThatItsKernelsAreCompiledForAlone) {
  const at::Device gpu(at::kCUDA, 1);
  for (const int capability : {80, 86, 89, 90, 100, 103, 120})
    detail::check_architectures(gpu, capability, "80 90 100");
  detail::check_architectures(gpu, 90, "90 80");
  EXPECT_ERROR(detail::check_architectures(gpu, 75, "80 90 100"), "device cuda:1", "compute capability 7.5",
               "kernels for 80 90 100", "-DRIESZ_CUDA_ARCHITECTURES=75", "take device = \"cpu\"");
  EXPECT_ERROR(detail::check_architectures(gpu, 80, "86 90"), "compute capability 8.0");
  EXPECT_ERROR(detail::check_architectures(gpu, 89, "90"), "compute capability 8.9");
  EXPECT_ERROR(detail::check_architectures(gpu, 70, "90 75"), "compute capability 7.0");
  check_kernels_for(at::kCPU);
  check_kernels_for(pretend_device());
}

}  // namespace
}  // namespace riesz::testing
