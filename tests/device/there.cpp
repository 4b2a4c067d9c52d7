// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "there.h"

#include <ATen/record_function.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

double largest(const at::Tensor& x) {
  return x.numel() == 0 ? 0 : x.detach().to(at::kDouble).abs().max().item<double>();
}

/// Runs each test in a stream of its own, not the default one, which threads have that were told nothing. All
/// that it has queued ends with it.
class InAStream final : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override {
    in_.emplace(c10::impl::VirtualGuardImpl(pretend_device().type()).getNewStream(pretend_device()));
  }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    in_.reset();
    try {
      finish_pretend_work();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "in queued work: " << error.what();
    }
    if (test.result()->Failed()) std::fprintf(stderr, "it ran with %s\n", lateness_text().c_str());
  }

  std::optional<c10::StreamGuard> in_;
};

const bool listens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new InAStream);  // which owns it
  return true;
}();

std::mutex called_mutex;
std::set<std::string> called_names;

}  // namespace

Vector there(const Vector& x) { return {x.space(), x.local().to(pretend_device())}; }

Partition row() { return Partition::world().grid({{"a", Runtime::size()}}); }

void expect_there(const at::Tensor& there, const at::Tensor& here) {
  EXPECT_EQ(there.device(), pretend_device());
  EXPECT_SAME_BITS(there.cpu(), here);
}

std::string difference_on(at::Device device, const Run& run) {
  const std::vector<at::Tensor> here = run(at::kCPU);
  const std::vector<at::Tensor> there = run(device);
  if (here.size() != there.size()) return concat(there.size(), " tensors, not ", here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    const at::Tensor &a = there[i], &b = here[i];
    const auto of = [i](const auto&... text) { return concat("tensor ", i, " is ", text...); };
    if (a.device() != device) return of("on ", a.device());
    if (a.sizes() != b.sizes()) return of("of ", a.sizes(), ", not ", b.sizes());
    if (a.scalar_type() != b.scalar_type()) return of("of ", a.scalar_type(), ", not ", b.scalar_type());
    const double apart = largest(a.cpu().sub(b)), bound = 1e-12 * std::max(1., largest(b));
    if (!(apart <= bound)) return of(apart, " apart");
  }
  return "";
}

std::string difference_there(const Run& run) { return difference_on(pretend_device(), run); }

void expect_close_there(const Run& run) { EXPECT_EQ(difference_there(run), ""); }

std::set<std::string> operators_of(const std::function<void()>& call) {
  called_names.clear();
  const at::CallbackHandle handle = at::addGlobalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction& f) -> std::unique_ptr<at::ObserverContext> {
        const std::lock_guard lock(called_mutex);
        called_names.insert(f.name());
        return nullptr;
      }).scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  call();
  at::removeCallback(handle);
  return called_names;
}

}  // namespace riesz::testing
