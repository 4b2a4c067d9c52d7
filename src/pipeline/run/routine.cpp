// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/routine.h"

#include <exception>
#include <optional>
#include <semaphore>
#include <utility>

#include "riesz/comm/thread.h"

namespace riesz {

struct Routine::Impl {
  std::function<void()> body;
  std::binary_semaphore go{0};
  std::binary_semaphore back{0};
  bool cancelled = false;
  bool ended = false;
  std::exception_ptr thrown;
  std::optional<Thread> thread;

  void run() {
    go.acquire();
    try {
      if (!cancelled) body();
    } catch (const Cancelled&) {
    } catch (...) {
      thrown = std::current_exception();
    }
    body = nullptr;
    ended = true;
    back.release();
  }
};

Routine::Routine(std::function<void()> body) : impl_(std::make_unique<Impl>()) {
  impl_->body = std::move(body);
  impl_->thread.emplace([impl = impl_.get()] { impl->run(); });
}

Routine::~Routine() {
  if (impl_->ended) return;
  impl_->cancelled = true;
  impl_->go.release();
  impl_->back.acquire();
}

void Routine::resume() {
  impl_->go.release();
  impl_->back.acquire();
  if (impl_->thrown) std::rethrow_exception(std::exchange(impl_->thrown, nullptr));
}

bool Routine::ended() const { return impl_->ended; }

void Routine::pause() {
  if (impl_->cancelled) throw Cancelled();  // again, where the body has caught it
  impl_->back.release();
  impl_->go.acquire();
  if (impl_->cancelled) throw Cancelled();
}

}  // namespace riesz
