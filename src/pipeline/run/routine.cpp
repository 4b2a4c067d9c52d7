// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/routine.h"

#include <semaphore.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/layer_scope.h"
#include "riesz/comm/logical_thread.h"
#include "riesz/comm/thread.h"

namespace riesz {
namespace {

/// The system's own: std::binary_semaphore looks and yields several times before it sleeps, which takes
/// longer than the switch to a thread that is to go on now, on this core.
class Semaphore {
 public:
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  void release() { sem_post(&semaphore_); }
  void acquire() {
    while (sem_wait(&semaphore_) != 0) {  // a signal came
    }
  }

 private:
  sem_t semaphore_;
};

/// A thread that takes turns with who has it, for one body after another: to make one, and what LibTorch and
/// the allocator make at its first use, takes a hundred microseconds.
class Host {
 public:
  Host() : thread_(start_thread([this] { run(); })) {}
  /// @pre No body is under way.
  ~Host() {
    go_.release();
    thread_.join();
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// What the next turn begins with.
  void give(std::function<void()> body) { body_ = std::move(body); }
  /// The body goes on until it pauses or ends.
  void turn() {
    go_.release();
    back_.acquire();
  }
  /// Called by the body.
  void pause() {
    back_.release();
    go_.acquire();
  }

 private:
  void run() {
    for (go_.acquire(); body_ != nullptr; pause()) {
      body_();
      body_ = nullptr;  // what it held goes where it was used
    }
  }

  Semaphore go_;
  Semaphore back_;
  std::function<void()> body_;
  std::thread thread_;  // last: it uses the others
};

constexpr std::size_t kMostIdle = 64;

/// Hosts whose bodies have ended, of routines that this thread made.
std::vector<std::unique_ptr<Host>>& idle_hosts() {
  thread_local std::vector<std::unique_ptr<Host>> all;
  return all;
}

std::unique_ptr<Host> take_host() {
  if (idle_hosts().empty()) return std::make_unique<Host>();
  std::unique_ptr<Host> host = std::move(idle_hosts().back());
  idle_hosts().pop_back();
  return host;
}

}  // namespace

struct Routine::Impl {
  std::unique_ptr<Host> host = take_host();
  bool cancelled = false;
  bool ended = false;
  bool as_it_began = false;  // has the body left what it entered?
  std::exception_ptr thrown;
  std::string layer;  // that it left

  void run(const ThreadStart& start, const std::function<void()>& body) {
    try {
      if (!cancelled) start.run(body);
      as_it_began = true;
    } catch (const Cancelled&) {
    } catch (...) {
      thrown = std::current_exception();
      layer = LayerScope::left_by_exception();
    }
    ended = true;
  }
};

Routine::Routine(std::function<void()> body) : impl_(std::make_unique<Impl>()) {
  impl_->host->give([impl = impl_.get(), start = std::make_shared<const ThreadStart>(),
                     logical_thread = LogicalThread::here(), body = std::move(body)] {
    const LogicalThread::Scope takes_turns(logical_thread);
    impl->run(*start, body);
  });
}

Routine::~Routine() {
  if (!impl_->ended) {
    impl_->cancelled = true;
    impl_->host->turn();
  }
  if (impl_->as_it_began && idle_hosts().size() < kMostIdle) idle_hosts().push_back(std::move(impl_->host));
}

void Routine::resume() {
  impl_->host->turn();
  if (!impl_->thrown) return;
  LayerScope::leave_by_exception(std::move(impl_->layer));
  std::rethrow_exception(std::exchange(impl_->thrown, nullptr));
}

bool Routine::ended() const { return impl_->ended; }

void Routine::pause() {
  if (impl_->cancelled) throw Cancelled();  // again, where the body has caught it
  impl_->host->pause();
  if (impl_->cancelled) throw Cancelled();
}

}  // namespace riesz
