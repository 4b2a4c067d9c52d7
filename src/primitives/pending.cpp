// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/pending.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/device_stream.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/resolved.h"
#include "riesz/comm/side_stream.h"
#include "riesz/primitives/application.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/check_input.h"
#include "riesz/primitives/node.h"

namespace riesz {
namespace {

/// Do messages lie in x until it is waited for? Between two partitions they are copied out of it at the
/// start.
bool lies_in_x(const Operator& A) {
  for (const Step& step : A.steps()) {
    if (step->sends()) return step->domain().partition() == step->range().partition();
  }
  return false;
}

/// Also where they are NaN.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const auto bytes = [](const at::Tensor& x) { return resolved(x).contiguous().view({-1}).view(at::kByte); };
  return at::equal(bytes(a), bytes(b));
}

/// Nothing else has its memory, so what writes there writes x.
bool has_its_memory_alone(const at::Tensor& x) { return x.storage().nbytes() == x.nbytes(); }

/// Sees whether x, in which messages lie, is written meanwhile.
class WriteCheck {
 public:
  WriteCheck(const Operator& A, const at::Tensor& x) {
    if (!lies_in_x(A)) return;
    if (consistency_checks()) {
      x_ = x;
      copy_ = x.clone();
    } else if (!x.is_inference() && has_its_memory_alone(x)) {
      written_ = [counter = x.unsafeGetTensorImpl()->version_counter(), version = x._version()] {
        return counter.current_version() != version;
      };
    }
  }

  bool written() const { return x_.defined() ? !same_bits(x_, copy_) : written_ && written_(); }

 private:
  at::Tensor x_, copy_;  // where workers compare: x, and what it was at the start
  std::function<bool()>
      written_;  // else, where x has its memory alone: its version tells, and x need not live
};

/// An operator's application that goes on in the background, until somebody waits for it.
class BackgroundApplication final : public BackgroundTask {
 public:
  BackgroundApplication(const Operator& A, const at::Tensor& x)
      : BackgroundTask(x.device()), A_(A), check_(A, x.detach()), application_(begun(A_, x.detach())) {}

  /// Waits for the end; y. @throws what went wrong on the way; Error where x was written.
  at::Tensor result() {
    wait();
    RIESZ_CHECK(!check_.written(), to_string(A_),
                ": x was written between start and wait, while it was sent; wait first, or start with ",
                "x.clone()");
    return application_.result();
  }

 private:
  static Application begun(const Operator& A, const at::Tensor& x) {
    const at::NoGradGuard no_gradient;
    return {A, x};
  }

  bool progress() override { return application_.progress(); }
  const std::string& operation() const override { return application_.operation(); }
  std::vector<int> waits_for() const override { return application_.waits_for(); }

  Operator A_;
  WriteCheck check_;
  Application application_;
};

struct Halves;

/// An application and the zero-volume tensor that leads from its second half's node to its first's.
struct Started {
  std::shared_ptr<Halves> halves;
  at::Tensor handle;
  at::Tensor token;
};

/// What the two nodes of one start and wait share.
struct Halves {
  explicit Halves(Operator op) : A(std::move(op)) {}

  Operator A;
  std::shared_ptr<BackgroundApplication> application;
  Started adjoint;       // begun by the backward of wait, ended by that of start;
  at::Tensor given_on;   // or, where that moves nothing, its result,
  DeviceStream made_in;  // and the stream in which that was made
};

Started start(const Operator& A, const at::Tensor& x, const at::Tensor& token);
detail::Applied finish(const Started& started);

/// The stream for a call that is started: beside the current one, if all of its messages go from device to
/// device. What is staged stays in the current one: copies from there need not wait for other teams.
DeviceStream stream_of(const Operator& A, const at::Tensor& x) {
  if (x.is_cpu()) return {};
  DeviceTransport* transport = nullptr;
  for (const Step& step : A.steps()) {
    const bool takes_part = step->domain().partition().active() || step->range().partition().active();
    if (!step->sends() || !takes_part) continue;
    const Rounds* rounds = step->rounds();
    if (rounds == nullptr) return {};
    if (rounds->identity) continue;
    transport = Communicator::world().device_transport(x.device(), rounds->team, step->operation().text);
    if (transport == nullptr) return {};
  }
  return transport == nullptr ? DeviceStream() : side_stream(*transport, {x});
}

void begin(Halves& halves, const at::Tensor& x) {
  const DeviceStream::Scope beside(stream_of(halves.A, x));
  halves.application = std::make_shared<BackgroundApplication>(halves.A, x);
  if (!halves.application->advance()) run_in_background(halves.application);
}

class StartNode : public detail::Node {
 public:
  explicit StartNode(std::shared_ptr<Halves> halves) : halves_(std::move(halves)) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    begin(*halves_, inputs[0]);
    return {at::empty({0}, inputs[0].options()), at::empty({0}, inputs[1].options())};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    if (halves_->given_on.defined()) {
      halves_->made_in.join();
      halves_->made_in.lend(halves_->given_on);
      return {std::exchange(halves_->given_on, {}), gradients[1]};
    }
    Started adjoint = std::exchange(halves_->adjoint, {});
    if (!adjoint.halves) return {at::Tensor(), gradients[1]};  // never waited for
    adjoint.handle = gradients[0];
    adjoint.token = gradients[1];
    detail::Applied applied = finish(adjoint);
    return {applied.y, applied.token};
  }

 private:
  std::shared_ptr<Halves> halves_;
};

class WaitNode : public detail::Node {
 public:
  explicit WaitNode(std::shared_ptr<Halves> halves) : halves_(std::move(halves)) {}

  /// Of the handle and the token.
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor y = std::exchange(halves_->application, nullptr)->result();
    return {y.alias(), at::empty({0}, inputs[1].options())};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const Operator A = adjoint(halves_->A);
    if (!at::GradMode::is_enabled() && !A.sends()) {
      halves_->given_on = detail::apply(A, gradients[0], gradients[1]).y;
      if (!halves_->given_on.is_same(gradients[0])) halves_->given_on = halves_->given_on.clone();
      halves_->made_in = DeviceStream(gradients[0].device());
      return {at::empty({0}, gradients[0].options()), gradients[1]};
    }
    halves_->adjoint = start(A, gradients[0], gradients[1]);
    return {halves_->adjoint.handle, halves_->adjoint.token};
  }

 private:
  std::shared_ptr<Halves> halves_;
};

Started start(const Operator& A, const at::Tensor& x, const at::Tensor& token) {
  auto halves = std::make_shared<Halves>(A);
  if (!at::GradMode::is_enabled()) {
    begin(*halves, x);
    return {halves, at::empty({0}, x.options()), token};
  }
  const std::vector<at::Tensor> results = detail::record(std::make_shared<StartNode>(halves), {x, token});
  return {halves, results[0], results[1]};
}

detail::Applied finish(const Started& started) {
  if (!at::GradMode::is_enabled()) return {started.halves->application->result(), started.token};
  const std::vector<at::Tensor> results =
      detail::record(std::make_shared<WaitNode>(started.halves), {started.handle, started.token});
  return {results[0], results[1]};
}

}  // namespace

struct Pending::Impl {
  std::optional<Vector> ready;  // an operator that moves nothing is applied at the start
  Space range;
  std::uint64_t tape = 0;  // of which chain; 0: not recorded
  Started started;
  DeviceStream stream = {};  // of what is ready
  bool constant = false;
};

Pending::Pending(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pending::~Pending() = default;
Pending::Pending(Pending&&) noexcept = default;
Pending& Pending::operator=(Pending&&) noexcept = default;

Pending Operator::start(const Vector& x) const {
  check_domain(x);
  if (!communicates())
    return Pending(std::make_unique<Pending::Impl>(
        Pending::Impl{(*this)(x), range(), 0, {}, DeviceStream(x.local().device())}));
  detail::check_constancy(*this, x);
  const at::Tensor& local = x.local();
  Chain* chain = recorded(x) ? &chain_for_gradients() : nullptr;
  const at::Tensor token = chain != nullptr ? chain->token(local.device()) : at::Tensor();
  const at::AutoGradMode mode(chain != nullptr);
  auto impl = std::make_unique<Pending::Impl>(Pending::Impl{
      std::nullopt, range(), chain == nullptr ? 0 : chain->tape(), riesz::start(*this, local, token)});
  impl->constant = x.is_constant();
  if (chain != nullptr) chain->advance(impl->started.token);
  return Pending(std::move(impl));
}

bool Pending::arrived() {
  RIESZ_CHECK(impl_ != nullptr, "Pending::arrived: it was waited for before, or moved from");
  return impl_->ready || impl_->started.halves->application->advance();
}

std::vector<int> Pending::waits_for() const {
  if (impl_ == nullptr || impl_->ready) return {};
  const auto& application = impl_->started.halves->application;
  return application ? application->awaited() : std::vector<int>{};
}

Vector Pending::wait() {
  RIESZ_CHECK(impl_ != nullptr,
              "Pending::wait: it was waited for before, or moved from; a result is given once");
  const std::unique_ptr<Impl> impl = std::move(impl_);
  if (impl->ready) {
    impl->stream.join();
    impl->stream.lend(impl->ready->local());
    return *impl->ready;
  }
  if (impl->tape == 0) return {impl->range, impl->started.halves->application->result(), impl->constant};
  Chain* chain = Chain::current();
  RIESZ_CHECK(at::GradMode::is_enabled() && chain != nullptr && chain->tape() == impl->tape,
              "Pending::wait: ", to_string(impl->started.halves->A),
              " was started with gradients recorded, in a chain; it must be waited for in the same way, in "
              "the same one, before that starts anew");
  impl->started.token = chain->token(impl->started.handle.device());
  detail::Applied applied = finish(impl->started);
  chain->advance(applied.token);
  return {impl->range, applied.y};
}

}  // namespace riesz
