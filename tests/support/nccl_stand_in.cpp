// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/nccl_stand_in.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/nccl_stand_in/state.h"

namespace riesz::testing {
namespace {

std::atomic<NcclStandIn::State*> the_state = nullptr;

}  // namespace

NcclStandIn::State& NcclStandIn::State::now() {
  State* const state = the_state;
  RIESZ_CHECK(state != nullptr, "NCCL's stand-in is called, and there is none");
  return *state;
}

namespace stand_in {
namespace {

struct Group {
  int depth = 0;
  std::vector<Call> calls;
  Result first = Result::success;  // that was refused
};
thread_local Group group;

/// Is a communicator ready to be called?
Result checked(const Call& call) {
  const nccl::OpaqueComm& comm = *call.comm;
  if (comm.ended)
    return refused(Result::invalid_argument,
                   concat(call.function, ": the communicator was destroyed or aborted"));
  if (comm.status == Result::in_progress)
    return refused(Result::invalid_usage,
                   concat(call.function, ": the communicator is not ready; ask ncclCommGetAsyncError"));
  if (comm.status != Result::success)
    return refused(comm.status, concat(call.function, ": the communicator has failed"));
  if (call.peer < 0 || call.peer >= comm.ranks)
    return refused(Result::invalid_argument,
                   concat(call.function, ": rank ", call.peer, " of a communicator of ", comm.ranks));
  if (call.stream == nullptr) return refused(Result::invalid_argument, concat(call.function, ": no stream"));
  return Result::success;
}

/// The calls of one communicator, by one thread at a time.
Result issued_alone(const std::vector<Call>& calls) {
  const std::unique_lock alone(calls.front().comm->calls, std::try_to_lock);
  if (!alone.owns_lock())
    return refused(Result::invalid_usage,
                   concat(calls.front().function, ": another thread is calling the communicator"));
  return calls.front().comm->blocks ? issue(calls) : issue_when_met(calls);
}

Result group_start() {
  if (++group.depth > 1) return Result::success;
  NcclStandIn::State& state = NcclStandIn::State::now();
  const std::lock_guard lock(state.mutex);
  state.open[std::this_thread::get_id()] = {std::chrono::steady_clock::now()};
  return Result::success;
}

Result group_end() {
  if (group.depth == 0)
    return refused(Result::invalid_usage, "ncclGroupEnd: no group has begun in this thread");
  if (--group.depth > 0) return Result::success;
  {
    NcclStandIn::State& state = NcclStandIn::State::now();
    const std::lock_guard lock(state.mutex);
    state.open.erase(std::this_thread::get_id());
  }
  std::vector<Call> calls = std::exchange(group.calls, {});
  const Result first = std::exchange(group.first, Result::success);
  if (first != Result::success) return first;
  Result all = Result::success;
  while (!calls.empty()) {
    std::vector<Call> of_one, others;
    for (const Call& call : calls) (call.comm == calls.front().comm ? of_one : others).push_back(call);
    const Result result = issued_alone(of_one);
    if (result != Result::success) all = result;
    if (result != Result::success && result != Result::in_progress) return result;
    calls = std::move(others);
  }
  return all;
}

/// The first call of this thread's group.
void note_first(const Call& call) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  const std::string text = text_of(call);
  const std::lock_guard lock(state.mutex);
  state.open[std::this_thread::get_id()].first = text;
}

Result called(const Call& call) {
  const Result result = checked(call);
  if (result == Result::success && group.depth == 0) return issued_alone({call});
  if (result == Result::success) {
    if (group.calls.empty()) note_first(call);
    group.calls.push_back(call);
  }
  if (group.depth > 0 && group.first == Result::success) group.first = result;
  return result;
}

pretend::Stream* of(nccl::Stream stream) { return static_cast<pretend::Stream*>(stream); }

Result async_error(nccl::Comm comm, Result* error) {
  *error = comm->status;
  return Result::success;
}

Result ended(nccl::Comm comm, const char* function) {
  if (comm->ended.exchange(true))
    return refused(Result::invalid_argument, concat(function, ": the communicator was destroyed or aborted"));
  return Result::success;
}

const char* last_error(nccl::Comm) {
  static thread_local std::string text;
  NcclStandIn::State& state = NcclStandIn::State::now();
  const std::lock_guard lock(state.mutex);
  text = state.last_error;
  return text.c_str();
}

const char* error_text(Result result) {
  static constexpr const char* kTexts[] = {"no error",
                                           "unhandled cuda error",
                                           "unhandled system error",
                                           "internal error",
                                           "invalid argument",
                                           "invalid usage",
                                           "remote process exited or there was a network error",
                                           "NCCL operation in progress"};
  return kTexts[static_cast<int>(result)];
}

std::string identity(at::Device) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  const std::lock_guard lock(state.mutex);
  return state.identity;
}

constexpr nccl::Functions kFunctions{
    "NCCL's stand-in",
    [](int* version) {
      *version = 22809;
      return Result::success;
    },
    get_unique_id,
    comm_init_rank,
    async_error,
    [](nccl::Comm) { return Result::success; },
    [](nccl::Comm comm) { return ended(comm, "ncclCommDestroy"); },
    [](nccl::Comm comm) { return ended(comm, "ncclCommAbort"); },
    last_error,
    error_text,
    group_start,
    group_end,
    [](const void* from, std::size_t n, nccl::Type type, int peer, nccl::Comm comm, nccl::Stream stream) {
      return called({"ncclSend", from, nullptr, n, type, peer, comm, of(stream)});
    },
    [](void* to, std::size_t n, nccl::Type type, int peer, nccl::Comm comm, nccl::Stream stream) {
      return called({"ncclRecv", nullptr, to, n, type, peer, comm, of(stream)});
    },
    [](const void* from, void* to, std::size_t n, nccl::Type type, nccl::Reduction, nccl::Comm comm,
       nccl::Stream stream) {
      return called({"ncclAllReduce", from, to, n, type, 0, comm, of(stream)});
    },
    [](const void* from, void* to, std::size_t n, nccl::Type type, nccl::Comm comm, nccl::Stream stream) {
      return called({"ncclAllGather", from, to, n, type, 0, comm, of(stream)});
    },
    [](const void* from, void* to, std::size_t n, nccl::Type type, nccl::Reduction, nccl::Comm comm,
       nccl::Stream stream) {
      return called({"ncclReduceScatter", from, to, n, type, 0, comm, of(stream)});
    },
    identity,
};

}  // namespace

Result refused(Result result, const std::string& text) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  const std::lock_guard lock(state.mutex);
  state.last_error = text;
  return result;
}

void failed(nccl::Comm comm, const std::string& text) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  {
    const std::lock_guard lock(state.mutex);
    state.last_error = text;
    state.faults.push_back(text);
  }
  comm->status = Result::invalid_usage;
}

bool stopped(const nccl::OpaqueComm& comm) {
  const Result status = comm.status;
  return NcclStandIn::State::now().stops || comm.ended ||
         (status != Result::success && status != Result::in_progress);
}

void count(const char* function) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  const std::lock_guard lock(state.mutex);
  ++state.calls[function];
}

}  // namespace stand_in

NcclStandIn::NcclStandIn() : state_(std::make_unique<State>()) {
  state_->identity = concat("pretend ", Runtime::rank());
  RIESZ_CHECK(the_state.exchange(state_.get()) == nullptr, "NcclStandIn: there is one already");
}

/// Its work waits no more, and is done before the memory of its messages goes.
NcclStandIn::~NcclStandIn() {
  state_->stops = true;
  for (std::thread& each : state_->threads) each.join();
  pretend::each_stream([](c10::StreamId, pretend::Stream& each) { each.wait(each.last()); });
  the_state = nullptr;
}

const nccl::Functions& NcclStandIn::functions() { return stand_in::kFunctions; }

void NcclStandIn::set_identity(std::string identity) {
  const std::lock_guard lock(state_->mutex);
  state_->identity = std::move(identity);
}

void NcclStandIn::set_standstill(std::chrono::milliseconds time) { state_->standstill = time; }

void NcclStandIn::abandon(bool all) { state_->abandoned = all; }

std::vector<std::string> NcclStandIn::faults() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> all = std::exchange(state_->faults, {});
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [thread, group] : state_->open) {
    if (thread == std::this_thread::get_id() || now - group.begin > state_->standstill.load())
      all.push_back(concat("ncclGroupStart: the group that begins with ", group.first, " is not closed"));
  }
  return all;
}

int NcclStandIn::calls(const std::string& function) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->calls.find(function);
  return found == state_->calls.end() ? 0 : found->second;
}

}  // namespace riesz::testing
