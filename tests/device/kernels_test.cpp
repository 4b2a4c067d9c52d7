// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernels that a device's library has, on the stand-in: each gives what the CPU gives, and is queued just
// as often as it should be.
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_cases.h"
#include "kernels_found.h"
#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/comm/sum/sum_of_element.h"
#include "riesz/testing/block_stand_in.h"
#include "riesz/testing/error.h"
#include "riesz/testing/kernel_stand_in.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

using ::testing::HasSubstr;

/// There is one already if the whole program runs on kernels.
class Kernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kernel_library_for(at::DeviceType::PrivateUse1) == nullptr) stand_in_.emplace();
  }

  std::optional<KernelStandIn> stand_in_;
};

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf};

void expect_as_on_the_cpu(const std::vector<KernelCase>& cases) {
  for (const KernelCase& each : cases) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(difference_from_cpu(each, pretend_device()), "");
    std::vector<std::int64_t> before;
    for (const auto& [name, count] : each.queued) before.push_back(KernelStandIn::queued(name));
    EXPECT_EQ(kernels_not_found(each, pretend_device()), "");
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto& [name, count] = each.queued[i];
      EXPECT_EQ(KernelStandIn::queued(name) - before[i], count) << name;
    }
  }
}

TEST_F(Kernels, SumsInRankOrderHaveTheBitsOfTheCpu) {
  for (const at::ScalarType type : kTypes) expect_as_on_the_cpu(sum_cases(type));
}

TEST_F(Kernels, DropoutHasTheBitsOfTheCpu) {
  for (const at::ScalarType type : kTypes) expect_as_on_the_cpu(dropout_cases(type));
}

TEST_F(Kernels, RotaryHasTheBitsOfTheCpu) {
  for (const at::ScalarType type : kTypes) expect_as_on_the_cpu(rotary_cases(type));
}

TEST_F(Kernels, NormsAreThoseOfTheCpu) {
  for (const at::ScalarType type : kTypes)
    for (const KernelSizes& sizes : kKernelSizes) expect_as_on_the_cpu(norm_cases(type, sizes));
}

TEST_F(Kernels, RowsOfLogitsAreThoseOfTheCpu) {
  for (const at::ScalarType type : kTypes)
    for (const KernelSizes& sizes : kKernelSizes) expect_as_on_the_cpu(logit_cases(type, sizes));
}

/// Of as many threads as on a GPU, and in the order in which a GPU adds.
TEST_F(Kernels, RowsByBlocksOfThreadsAreThoseOfTheCpu) {
  const RowsByBlocks by_blocks;
  for (const at::ScalarType type : kTypes) {
    for (const KernelSizes& sizes : {KernelSizes{18, 37, 4, 300}, KernelSizes{2, 700, 4, 5000}}) {
      expect_as_on_the_cpu(norm_cases(type, sizes));
      expect_as_on_the_cpu(logit_cases(type, sizes));
    }
  }
  // A row of more elements than a block of threads sums at once, with its greatest at the end.
  const KernelSizes long_rows{1, 1, 3, 17000};
  ASSERT_GT(long_rows.vocabulary, cuda::Block::near_elements());
  expect_as_on_the_cpu(logit_cases(at::kFloat, long_rows));
}

/// A library without a kernel would be compared with the CPU by LibTorch's operators.
TEST_F(Kernels, AKernelThatIsNotFoundIsNamed) {
  static const KernelLibrary* whole = nullptr;
  static const KernelLibrary partial{
      "a library without norms", [](const char* kernel, std::size_t* size) -> Launch {
        return std::string_view(kernel).find("NormOfRow") == std::string_view::npos
                   ? whole->find(kernel, size)
                   : nullptr;
      }};
  whole = set_kernel_library_for(at::DeviceType::PrivateUse1, &partial);
  const KernelCase norm = norm_cases(at::kFloat, kKernelSizes[0])[0];
  EXPECT_EQ(difference_from_cpu(norm, pretend_device()), "");
  EXPECT_THAT(kernels_not_found(norm, pretend_device()), HasSubstr("NormOfRow"));
  set_kernel_library_for(at::DeviceType::PrivateUse1, whole);
  EXPECT_EQ(kernels_not_found(norm, pretend_device()), "");
}

TEST_F(Kernels, FormulasAreThoseOfTheCpu) {
  for (const at::ScalarType type : kTypes) expect_as_on_the_cpu(formula_cases(type));
}

/// One element in a thousand that is one unit more than it may be, one of another bit, or none, is seen.
TEST_F(Kernels, WhatDiffersIsNamed) {
  const auto of = [](double factor, bool bounded) {
    KernelCase each{"a case", {}, [=](at::Device device) {
                      at::Tensor x = at::full({1000}, 3., at::kFloat);
                      if (!device.is_cpu()) x[700].mul_(factor);
                      return std::vector<at::Tensor>{x.to(device)};
                    }};
    if (bounded) each.bounds = [] { return std::vector<at::Tensor>{at::full({1000}, 1e-3, at::kDouble)}; };
    return difference_from_cpu(each, pretend_device());
  };
  EXPECT_EQ(of(1, false), "");
  EXPECT_EQ(of(1 + 3e-4, true), "");
  EXPECT_THAT(of(1 + 1e-7, false),
              HasSubstr("1 of 1000 elements differ; element 700 is 3, the CPU has 3, 4.76837e-07 apart"));
  EXPECT_THAT(of(1 + 4e-4, true),
              HasSubstr("element 700 is 3.0012, the CPU has 3, 0.00119972 apart, where the bound is 0.001"));
  EXPECT_THAT(of(std::nan(""), true), HasSubstr("element 700 is nan"));
}

/// A library of another build has kernels of other sizes.
TEST_F(Kernels, ALibraryOfAnotherBuildIsAnError) {
  static const KernelLibrary other{"another library", [](const char*, std::size_t* size) -> Launch {
                                     *size = 1;
                                     return [](const void*, std::int64_t, std::int64_t,
                                               void*) -> const char* { return "it does nothing"; };
                                   }};
  const KernelLibrary* const before = set_kernel_library_for(at::DeviceType::PrivateUse1, &other);
  EXPECT_ERROR((has_kernel<kernels::SumOfElement<float, float>>(pretend_device())),
               "another library: its kernel ", "takes 1 bytes", "build both together");
  std::size_t size = 0;
  EXPECT_ERROR(detail::launch(pretend_device(), other.find("", &size), nullptr, 1, 1),
               "a kernel on pretend:0: it does nothing");
  set_kernel_library_for(at::DeviceType::PrivateUse1, before);
}

}  // namespace
}  // namespace riesz::testing
