// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/guard.h"

#include <chrono>
#include <memory>

#include "riesz/testing/pretend_device/device_memory.h"
#include "riesz/testing/pretend_device/stream.h"

namespace riesz::testing::pretend {
namespace {

using Clock = std::chrono::steady_clock;

/// What a stream had queued when the event was recorded.
struct Event {
  c10::StreamId stream;
  Number number;
  std::shared_ptr<const Clock::time_point> time;  // when the stream came there, if it takes times
};

const Event& event_at(void* event) { return *static_cast<const Event*>(event); }

/// As those of a GPU: only an event that is made for it takes times.
Event recorded(const c10::Stream& in, c10::EventFlag flag) {
  Stream& of = stream(in.id());
  if (flag != c10::EventFlag::BACKEND_DEFAULT) return {in.id(), of.last(), nullptr};
  const auto time = std::make_shared<Clock::time_point>();
  return {in.id(), of.add([time] { *time = Clock::now(); }), time};
}

c10::Stream c10_stream(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, pretend_device(), id); }

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  c10::Device exchangeDevice(c10::Device) const override { return pretend_device(); }
  c10::Device getDevice() const override { return pretend_device(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream getStream(c10::Device) const override { return c10_stream(current_stream()); }
  c10::Stream getDefaultStream(c10::Device) const override { return c10_stream(0); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return c10_stream(new_stream()); }
  c10::Stream getNewStream(c10::Device, int) const override { return c10_stream(new_stream()); }
  void* getStreamNativeHandle(const c10::Stream of) const override { return &stream(of.id()); }
  c10::Stream exchangeStream(c10::Stream to) const override { return c10_stream(change_stream(to.id())); }

  void record(void** event, const c10::Stream& in, c10::DeviceIndex, c10::EventFlag flag) const override {
    if (*event == nullptr) *event = new Event;
    *static_cast<Event*>(*event) = recorded(in, flag);
  }
  void block(void* event, const c10::Stream& in) const override {
    const Event until = event_at(event);
    if (until.stream == in.id()) return;
    stream(in.id()).add([until] { stream(until.stream).wait(until.number); });
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }

  /// Who asks again and again must see it done some time.
  bool queryEvent(void* event) const override { return asked(event_at(event)); }
  bool queryStream(const c10::Stream& of) const override {
    return asked({of.id(), stream(of.id()).last(), nullptr});
  }

  void synchronizeEvent(void* event) const override {
    host_wait_for_event(event_at(event).stream, event_at(event).number);
  }
  void synchronizeStream(const c10::Stream& of) const override { host_wait(of.id(), "Stream::synchronize"); }
  void synchronizeDevice(c10::DeviceIndex) const override {
    each_stream([](c10::StreamId id, Stream&) { host_wait(id, "synchronizeDevice"); });
  }

  double elapsedTime(void* from, void* to, c10::DeviceIndex) const override {
    for (const Event* each : {&event_at(from), &event_at(to)})  // c10 has seen that they are done
      TORCH_CHECK(each->time != nullptr, "an event of ", pretend_device(), " takes no times");
    return std::chrono::duration<double, std::milli>(*event_at(to).time - *event_at(from).time).count();
  }

  void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& user) const override {
    device_memory().recordStream(memory, user);
  }

 private:
  static bool asked(const Event& until) {
    Stream& of = stream(until.stream);
    if (of.done(until.number)) return true;
    found_unfinished(until.stream, until.number);
    of.release(until.number);
    return false;
  }
};

}  // namespace

const c10::impl::DeviceGuardImplInterface& guard() {
  static const auto* const guard = new Guard;  // as long as the process
  return *guard;
}

}  // namespace riesz::testing::pretend
