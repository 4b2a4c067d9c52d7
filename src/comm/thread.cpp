// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/thread.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#ifdef RIESZ_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

#include <exception>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "riesz/comm/channel.h"
#include "riesz/comm/device_stream.h"
#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/progress/cancellation.h"
#include "riesz/comm/recording/strand.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/thread_state.h"

namespace riesz {
namespace {

/// Where a thread allocates.
class Arena {
 public:
  static Arena of_this_thread() {
    Arena arena;
#ifdef RIESZ_JEMALLOC
    std::size_t size = sizeof arena.number_;
    arena.known_ = mallctl("thread.arena", &arena.number_, &size, nullptr, 0) == 0;
#endif
    return arena;
  }

  void enter() const {
#ifdef RIESZ_JEMALLOC
    unsigned number = number_;
    if (known_) mallctl("thread.arena", nullptr, nullptr, &number, sizeof number);
#endif
  }

 private:
  [[maybe_unused]] unsigned number_ = 0;
  [[maybe_unused]] bool known_ = false;
};

/// What other rooms keep for a thread, open; closed in reverse order.
class Opened {
 public:
  explicit Opened(const std::vector<ReopenOnThread>& all) {
    for (const ReopenOnThread& open : all) scopes_.push_back(open());
  }
  ~Opened() {
    while (!scopes_.empty()) scopes_.pop_back();
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  std::vector<std::shared_ptr<void>> scopes_;
};

/// On the status board, while a thread takes part in the program.
class TakesPart {
 public:
  TakesPart() { StatusBoard::add_threads(1); }
  ~TakesPart() { StatusBoard::add_threads(-1); }
  TakesPart(const TakesPart&) = delete;
  TakesPart& operator=(const TakesPart&) = delete;
};

}  // namespace

struct ThreadStart::State {
  Arena arena = Arena::of_this_thread();
  at::ThreadLocalState of_torch;
  std::shared_ptr<const Origin> origin = LayerScope::current();
  Strand strand = Strand::here();
  int channel = current_channel();
  DeviceStream stream = DeviceStream::of_this_thread();
  std::vector<ReopenOnThread> others = captured_for_thread();
};

ThreadStart::ThreadStart() : state_(std::make_unique<const State>()) {}
ThreadStart::~ThreadStart() = default;
ThreadStart::ThreadStart(ThreadStart&&) noexcept = default;

void ThreadStart::run(const std::function<void()>& body) const {
  const TakesPart here;
  state_->arena.enter();
  at::init_num_threads();
  const at::ThreadLocalStateGuard alike(state_->of_torch);
  const ChannelScope in(state_->channel);
  const DeviceStream::Scope queued(state_->stream);
  const Opened alike_above(state_->others);
  const LayerScope layer(state_->origin);
  Strand alike_recorded = state_->strand;
  const Strand::Scope recorded(alike_recorded);
  body();
}

std::thread start_thread(std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw_error(
        concat("cannot start a thread: ", error.code().message(),
               "; raise the limit of processes (ulimit -u) or of memory (ulimit -v), or run fewer ranks"));
  }
}

Thread::Thread(std::function<void()> body)
    : cancellation_(std::make_shared<Cancellation>(Cancellation::current())),
      strand_(std::make_shared<Strand>()) {
  const auto start = std::make_shared<const ThreadStart>();
  strand_->begin_thread();
  thread_ = start_thread([this, body = std::move(body), start]() mutable {
    const CancellationScope scope(cancellation_);
    try {
      start->run([&] {
        const Strand::Scope recorded(*strand_);
        body();
      });
    } catch (...) {
      thrown_ = std::current_exception();
      layer_ = LayerScope::left_by_exception();
    }
    body = nullptr;  // what it held goes where it was used
  });
}

void Thread::wait_for_end() {
  if (!thread_.joinable()) return;
  if (std::uncaught_exceptions() > exceptions_) cancellation_->ask();
  thread_.join();
  strand_->join();
}

Thread::~Thread() {
  wait_for_end();
  if (thrown_ && std::uncaught_exceptions() <= exceptions_) end_job(thrown_);
}

void Thread::join() {
  wait_for_end();
  if (!thrown_) return;
  LayerScope::leave_by_exception(std::move(layer_));
  std::rethrow_exception(std::exchange(thrown_, nullptr));
}

}  // namespace riesz
