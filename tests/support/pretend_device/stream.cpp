// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/stream.h"

#include <ATen/Parallel.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "riesz/comm/runtime.h"

namespace riesz::testing {
namespace pretend {
namespace {

Lateness lateness_of_environment() {
  const char* name = std::getenv("RIESZ_PRETEND_LATENESS");
  const std::string_view given = name == nullptr ? "random" : name;
  TORCH_CHECK(given == "soonest" || given == "random" || given == "latest", "RIESZ_PRETEND_LATENESS is ",
              given, "; give soonest, random or latest");
  return given == "soonest" ? Lateness::soonest : given == "random" ? Lateness::random : Lateness::latest;
}

std::atomic<Lateness>& lateness() {
  static std::atomic<Lateness> now(lateness_of_environment());
  return now;
}

/// The ranks of a host have one launcher.
std::uint64_t seed() {
  const char* given = std::getenv("RIESZ_PRETEND_SEED");
  if (given == nullptr) return static_cast<std::uint64_t>(getppid());
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(given, &end, 10);
  TORCH_CHECK(*given != '\0' && *end == '\0', "RIESZ_PRETEND_SEED is ", given, "; give a number");
  return number;
}

/// SplitMix64.
std::uint64_t draw(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

std::uint64_t first_draw(c10::StreamId id) {
  std::uint64_t state = seed();
  state = draw(state) + static_cast<std::uint64_t>(Runtime::active() ? Runtime::rank() : 0);
  return draw(state) + static_cast<std::uint64_t>(id);
}

struct Streams {
  std::mutex mutex;
  std::array<std::atomic<Stream*>, kStreams + 1> all{};
  std::atomic<c10::StreamId> next = 0;
};

Streams& streams() {
  static Streams* const streams = new Streams;  // as long as the process
  return *streams;
}

/// Stops the streams when the process ends.
struct Stopper {
  ~Stopper() {
    each_stream([](c10::StreamId, Stream& each) { each.stop(); });
  }
};

thread_local c10::StreamId current = 0;

std::mutex error_mutex;
std::exception_ptr first_error;

}  // namespace

Stream::Stream(c10::StreamId id) : draws_(first_draw(id)) {}

/// Often not at all, sometimes for long.
void Stream::draw_hold() {
  const std::uint64_t kind = draw(draws_) % 4;
  held_ = kind < 2 ? 0 : draw(draws_) % (kind == 2 ? 8 : 200);
}

Number Stream::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return last_;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  work_.push_back(std::move(work));
  ++last_;
  const Lateness now = lateness();
  if (now == Lateness::soonest || (now == Lateness::random && held_ == 0)) {
    released_ = last_;
    draw_hold();
    released_or_stopped_.notify_one();
  } else if (now == Lateness::random) {
    --held_;
  }
  return last_;
}

Number Stream::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

bool Stream::done(Number number) const {
  const std::lock_guard lock(mutex_);
  return done_ >= number;
}

void Stream::release(Number number) {
  const std::lock_guard lock(mutex_);
  if (number <= released_) return;
  released_ = number;
  released_or_stopped_.notify_one();
}

void Stream::wait(Number number) {
  release(number);
  std::unique_lock lock(mutex_);
  came_on_.wait(lock, [&] { return done_ >= number || stopped_; });
}

void Stream::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    released_or_stopped_.notify_one();
    came_on_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Stream::run() {
  at::init_num_threads();
  std::unique_lock lock(mutex_);
  for (;;) {
    released_or_stopped_.wait(lock, [&] { return stopped_ || (done_ < released_ && !work_.empty()); });
    if (stopped_) return;
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    try {
      work();
    } catch (...) {
      failed(std::current_exception());
    }
    work = nullptr;
    lock.lock();
    ++done_;
    came_on_.notify_all();
  }
}

Stream& stream(c10::StreamId id) {
  static const Stopper at_the_end;
  std::atomic<Stream*>& place = streams().all.at(static_cast<std::size_t>(id));
  if (Stream* const made = place) return *made;
  const std::lock_guard lock(streams().mutex);
  if (place == nullptr) place = new Stream(id);  // as long as the process
  return *place;
}

c10::StreamId new_stream() { return 1 + streams().next++ % kStreams; }

c10::StreamId current_stream() { return current; }

c10::StreamId change_stream(c10::StreamId id) { return std::exchange(current, id); }

void each_stream(const std::function<void(c10::StreamId, Stream&)>& f) {
  for (c10::StreamId id = 0; id <= kStreams; ++id) {
    if (Stream* const each = streams().all.at(static_cast<std::size_t>(id))) f(id, *each);
  }
}

void failed(std::exception_ptr error) {
  const std::lock_guard lock(error_mutex);
  if (first_error == nullptr) first_error = std::move(error);
}

void throw_what_failed() {
  std::exception_ptr error;
  {
    const std::lock_guard lock(error_mutex);
    error = std::exchange(first_error, nullptr);
  }
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace pretend

LatenessScope::LatenessScope(Lateness now) : before_(pretend::lateness().exchange(now)) {}
LatenessScope::~LatenessScope() { pretend::lateness() = before_; }

std::string lateness_text() {
  const Lateness now = pretend::lateness();
  if (now == Lateness::soonest) return "RIESZ_PRETEND_LATENESS=soonest";
  if (now == Lateness::latest) return "RIESZ_PRETEND_LATENESS=latest";
  return "RIESZ_PRETEND_LATENESS=random RIESZ_PRETEND_SEED=" + std::to_string(pretend::seed());
}

void sleep_there(double milliseconds) {
  const std::chrono::duration<double, std::milli> time(milliseconds);
  pretend::stream(pretend::current_stream()).add([time] { std::this_thread::sleep_for(time); });
}

void finish_pretend_work() {
  // What a stream does may wait for another, but queues nothing.
  pretend::each_stream([](c10::StreamId, pretend::Stream& each) { each.wait(each.last()); });
  pretend::throw_what_failed();
}

}  // namespace riesz::testing
