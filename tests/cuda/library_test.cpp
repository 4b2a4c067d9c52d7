// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// libriesz_cuda.so as a program loads it, on a machine without a driver too.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "riesz/comm/device.h"
#include "riesz/comm/device_library.h"
#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/comm/nccl/functions.h"
#include "riesz/comm/trace/nvtx_ranges.h"
#include "riesz/comm/trace/range.h"
#include "riesz/comm/trace/trace.h"
#include "riesz/nn/kernels/device_lists.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

const at::Device kGpu(at::kCUDA, 0);

const detail::CudaLibrary& loaded() { return detail::load_cuda_library("a test", ""); }

template <typename Kernel>
void expect_kernel() {
  EXPECT_TRUE(has_kernel<Kernel>(kGpu)) << typeid(Kernel).name();
}

template <typename... Kernels>
std::size_t expect_kernels(kernels::KernelList<Kernels...>) {
  (expect_kernel<Kernels>(), ...);
  return sizeof...(Kernels);
}

template <typename... Formulas>
std::size_t expect_formulas(kernels::KernelList<Formulas...>) {
  for (const std::string name : {typeid(Formulas).name()...})
    for (const char* which : {":value", ":gradients"})
      EXPECT_NE(detail::found_launch(at::kCUDA, (name + which).c_str(), sizeof(detail::FormulaArguments)),
                nullptr)
          << name << which;
  return 2 * sizeof...(Formulas);
}

/// Each with the size that this program gives it, and no others.
TEST(CudaLibrary, HasTheKernelsOfAllLists) {
  const detail::CudaLibrary& library = loaded();
  std::size_t listed = 0;
  detail::for_each_kernel_list([&](auto list) { listed += expect_kernels(list); });
  detail::for_each_formula_list([&](auto list) { listed += expect_formulas(list); });
  EXPECT_EQ(library.kernels(), listed);
  EXPECT_EQ(detail::found_launch(at::kCUDA, "a kernel of a user", 8), nullptr);
}

TEST(CudaLibrary, HasNcclOfTheVersionThatItWasCompiledWith) {
  const detail::CudaLibrary& library = loaded();
  EXPECT_EQ(library.nccl_compiled() / 100, 228);
  EXPECT_EQ(library.nccl_loaded() / 100, 228);
  const nccl::Functions* const functions = nccl::functions_for(at::kCUDA);
  ASSERT_NE(functions, nullptr);
  int version = 0;
  EXPECT_EQ(functions->get_version(&version), nccl::Result::success);
  EXPECT_EQ(version, library.nccl_loaded());
}

TEST(CudaLibrary, RangesGoToOnePlaceWhileItsObjectLives) {
  EXPECT_EQ(range_sink(), nullptr);
  {
    const NvtxRanges ranges;
    EXPECT_NE(range_sink(), nullptr);
    EXPECT_ERROR(NvtxRanges(), "NvtxRanges: ranges go to a sink already", "stop it first");
  }
  EXPECT_EQ(range_sink(), nullptr);
  Trace::start();
  EXPECT_ERROR(NvtxRanges(), "NvtxRanges: ranges go to a sink already");
  Trace::stop();
}

TEST(CudaLibrary, SaysForWhatItWasCompiled) {
  const std::string architectures = loaded().architectures();
  EXPECT_TRUE(std::regex_match(architectures, std::regex("[0-9]+( [0-9]+)*"))) << architectures;
}

}  // namespace
}  // namespace riesz::testing
