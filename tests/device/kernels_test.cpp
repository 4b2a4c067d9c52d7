// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernels that a device's library has, on the stand-in: each gives what the CPU gives, and is queued just
// as often as it should be.
#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/comm/kernels/stored.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/comm/sum/sum_of_element.h"
#include "riesz/nn/attention/rotary_turns.h"
#include "riesz/nn/attention/turned.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/loss/exp_rows.h"
#include "riesz/nn/norm/row_norm.h"
#include "riesz/nn/pointwise/record.h"
#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/dropped.h"
#include "riesz/testing/error.h"
#include "riesz/testing/kernel_stand_in.h"
#include "riesz/testing/pretend_device.h"
#include "there.h"

namespace riesz::testing {
namespace {

/// There is one already if the whole program runs on kernels.
class Kernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kernel_library_for(at::DeviceType::PrivateUse1) == nullptr) stand_in_.emplace();
  }

  /// How many kernels of this name `f` queues.
  template <typename F>
  static std::int64_t queued_by(const std::string& name, const F& f) {
    const std::int64_t before = KernelStandIn::queued(name);
    f();
    return KernelStandIn::queued(name) - before;
  }

  std::optional<KernelStandIn> stand_in_;
};

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kBFloat16, at::kHalf};

TEST_F(Kernels, SumsInRankOrderHaveTheBitsOfTheCpu) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    for (const std::size_t count : {2, 3, 32, 33, 70}) {
      SCOPED_TRACE(concat(type, " ", count));
      std::vector<at::Tensor> here, far;
      for (std::size_t i = 0; i < count; ++i) {
        here.push_back(at::randn({3, 7}, at::kDouble).mul(1e3).to(type));
        far.push_back(here.back().to(pretend_device()));
      }
      // Runs of up to 32 are summed, and each two of them added.
      const std::int64_t runs = count <= 32 ? 1 : count <= 64 ? 2 : 4;
      at::Tensor sum;
      EXPECT_EQ(queued_by("SumOfElement", [&] { sum = ordered_sum(far); }), 2 * runs - 1);
      expect_there(sum, ordered_sum(here));
      const at::Tensor to = far[0].clone();
      far[0] = to;
      ordered_sum_to(far, to);  // over a term
      expect_there(to, ordered_sum(here));
    }
  }
}

TEST_F(Kernels, DropoutHasTheBitsOfTheCpu) {
  const std::vector<Boxes> all{{{{0, 3}}, {{0, 5}}, {{0, 7}}},
                               {{{1, 3}}, {{0, 2}, {3, 5}}, {{0, 7}}},
                               {{{0, 1}, {2, 3}}, {{0, 5}}, {{2, 4}, {5, 7}}}};
  for (const Boxes& boxes : all) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
      const detail::DropoutDraws draws{{3, 5, 7}, boxes, 42, 3, 0.3};
      const at::Tensor x = at::randn({volume(boxes)}, at::kDouble).to(type);
      at::Tensor y;
      EXPECT_EQ(queued_by("DroppedElements", [&] { y = detail::dropped(x.to(pretend_device()), draws); }), 1);
      expect_there(y, detail::dropped(x, draws));
      const at::TensorOptions options = at::dtype(type);
      EXPECT_EQ(queued_by("DroppedElements",
                          [&] { y = detail::dropout_mask(draws, options.device(pretend_device())); }),
                1);
      expect_there(y, detail::dropout_mask(draws, options));
    }
  }
}

/// More pieces of a dim than the kernel has room for are drawn by operators, with the same bits.
TEST_F(Kernels, BoxesOfManyPiecesAreDrawnByOperators) {
  const Boxes boxes{{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}}};
  const detail::DropoutDraws draws{{10}, boxes, 42, 3, 0.3};
  const at::Tensor x = at::randn({5}, at::kFloat);
  at::Tensor y;
  EXPECT_EQ(queued_by("DroppedElements", [&] { y = detail::dropped(x.to(pretend_device()), draws); }), 0);
  expect_there(y, detail::dropped(x, draws));
}

TEST_F(Kernels, RotaryHasTheBitsOfTheCpu) {
  for (const RotaryPairs pairs : {RotaryPairs::neighbours, RotaryPairs::halves}) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
      RotaryOptions options;
      options.dims = 6, options.pairs = pairs;
      const at::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
      const auto run = [&](at::Device device) {
        at::manual_seed(1);
        const at::Tensor x = at::randn({2, 5, 3, 8}, at::kDouble).to(type).to(device).requires_grad_();
        const auto turns = detail::rotary_turns({{0, 3}, {4, 6}}, options, at::dtype(wide).device(device));
        const at::Tensor y = detail::turned(x, turns, pairs);
        y.backward(y.detach().mul(2));
        return std::vector<at::Tensor>{y.detach(), x.grad()};
      };
      std::vector<at::Tensor> far;
      EXPECT_EQ(queued_by("TurnedPairs", [&] { far = run(pretend_device()); }), 2);
      const std::vector<at::Tensor> here = run(at::kCPU);
      for (std::size_t i = 0; i < here.size(); ++i) expect_there(far[i], here[i]);
    }
  }
}

TEST_F(Kernels, NormsAreThoseOfTheCpu) {
  for (const bool centred : {true, false}) {
    for (const at::ScalarType type : kTypes) {
      const auto run = [&](at::Device device) {
        at::manual_seed(2);
        const auto leaf = [&](at::IntArrayRef sizes) {
          return at::randn(sizes, at::kDouble).to(type).to(device).requires_grad_();
        };
        const at::Tensor x = leaf({5, 9, 37}), w = leaf({37}), b = centred ? leaf({37}) : at::Tensor();
        const at::Tensor y = detail::row_norm(x, w, b, 1e-5);
        y.backward(y.detach().mul(2));
        std::vector<at::Tensor> all{y.detach(), x.grad(), w.grad()};
        if (centred) all.push_back(b.grad());
        return all;
      };
      std::vector<at::Tensor> far;
      EXPECT_EQ(queued_by("NormOfRow", [&] { far = run(pretend_device()); }), 1);
      EXPECT_EQ(queued_by("GradientsOfPart", [&] { run(pretend_device()); }), 1);
      const std::vector<at::Tensor> here = run(at::kCPU);
      expect_there(far[0], here[0]);
      expect_there(far[1], here[1]);
      // Rows are added in more parts there.
      const double bound = type == at::kFloat ? 1e-5 : 2e-2;
      for (std::size_t i = 2; i < here.size(); ++i) {
        EXPECT_EQ(far[i].scalar_type(), here[i].scalar_type());
        EXPECT_LE(far[i].cpu().sub(here[i]).abs().max().item<double>(),
                  bound * here[i].abs().max().item<double>());
      }
    }
  }
}

TEST_F(Kernels, RowsOfLogitsAreThoseOfTheCpu) {
  for (const at::ScalarType type : kTypes) {
    at::manual_seed(3);
    const at::Tensor x = at::randn({4, 2500}, at::kDouble).mul(3).to(type);
    const at::Tensor there = x.to(pretend_device());
    const detail::RowSums here = detail::row_sums(x);
    detail::RowSums far;
    EXPECT_EQ(queued_by("SumsOfRow", [&] { far = detail::row_sums(there); }), 1);
    expect_there(far.greatest, here.greatest);
    expect_there(far.sum, here.sum);
    expect_there(far.shifted, here.shifted);
    const at::Tensor target = at::tensor({0, 2499, -1, 7}, at::kLong).view({4, 1});
    const auto factors = [&](at::Device device) {
      const auto column = [&](double from) {
        return at::arange(4, at::kFloat).mul(0.25).add(from).view({4, 1}).to(device);
      };
      return detail::RowFactors{here.greatest.to(device), column(1), column(0.01), column(-1),
                                target.to(device)};
    };
    at::Tensor xbar;
    EXPECT_EQ(queued_by("GradientOfRow",
                        [&] { xbar = detail::row_gradients(there, factors(pretend_device()), true); }),
              1);
    EXPECT_TRUE(xbar.is_same(there));  // written over the logits
    expect_there(xbar, detail::row_gradients(x, factors(at::kCPU), false));
  }
}

/// The formulas of the library, with an operand that is broadcast, and one of a user, which no library has.
TEST_F(Kernels, FormulasAreThoseOfTheCpu) {
  const auto checks = [&](const detail::Formula& formula, std::vector<at::IntArrayRef> sizes, bool compiled) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
      SCOPED_TRACE(concat(formula.name, " ", type));
      const auto run = [&](at::Device device) {
        at::manual_seed(4);
        std::vector<at::Tensor> xs, all;
        for (const at::IntArrayRef each : sizes)
          xs.push_back(at::randn(each, at::kDouble).to(type).to(device).requires_grad_());
        const at::Tensor y = detail::recorded_pointwise(formula, xs);
        y.backward(y.detach().mul(2));
        all.push_back(y.detach());
        for (const at::Tensor& x : xs) all.push_back(x.grad());
        return all;
      };
      std::vector<at::Tensor> far;
      EXPECT_EQ(queued_by("OfElement", [&] { far = run(pretend_device()); }), compiled ? 2 : 0);
      const std::vector<at::Tensor> here = run(at::kCPU);
      const double bound = type == at::kDouble ? 1e-12 : type == at::kFloat ? 1e-5 : 1e-2;
      for (std::size_t i = 0; i < here.size(); ++i) {
        EXPECT_EQ(far[i].scalar_type(), here[i].scalar_type());
        ASSERT_EQ(far[i].sizes(), here[i].sizes());
        EXPECT_LE(far[i].cpu().sub(here[i]).abs().max().item<double>(),
                  bound * here[i].abs().max().item<double>());
      }
    }
  };
  const auto of = [&](const auto& f, bool compiled) {
    checks(detail::formula<1>("alone", f), {{3, 5, 7}}, compiled);
    using F = std::decay_t<decltype(f)>;
    checks(detail::formula<2>("sum", detail::OfSum<F>{f}), {{3, 5, 7}, {7}}, compiled);
    checks(detail::formula<2>("sum of a scalar", detail::OfSum<F>{f}), {{3, 5, 7}, {1, 1, 1}}, compiled);
    checks(detail::formula<2>("gated", detail::Gated<F>{f}), {{3, 5, 7}, {3, 5, 7}}, compiled);
  };
  of(detail::GeluFormula{}, true);
  of(detail::GeluExactFormula{}, true);
  of(detail::ReluFormula{}, true);
  of(detail::SiluFormula{}, true);
  of([](auto x) { return x * 2.0; }, false);
  // Broadcast in another dim than the first ones: by operators.
  checks(detail::formula<2>("sum", detail::OfSum<detail::SiluFormula>{}), {{3, 5, 7}, {5, 1}}, false);
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
