// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/nccl/communicators.h"

#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/thread.h"
#include "riesz/comm/trace/trace.h"

namespace riesz::nccl {
namespace {

using Kind = ControlMessage::Kind;
using CommunicatorState = TeamCommunicator::State;

/// How often the thread looks while something is under way, and else.
constexpr std::chrono::microseconds kSoon(100);
constexpr std::chrono::milliseconds kIdle(1);
/// A round that takes longer is asked after, and again so often.
constexpr std::chrono::milliseconds kAsk(200);

std::vector<int> others_of(const std::vector<int>& team) {
  std::vector<int> others = team;
  std::erase(others, Runtime::rank());
  return others;
}

}  // namespace

int TeamCommunicator::position_of(int rank) const {
  return static_cast<int>(std::lower_bound(team.begin(), team.end(), rank) - team.begin());
}

Communicators::Communicators(const Functions& functions, at::Device device, int max_communicators)
    : functions_(functions),
      device_(device),
      max_communicators_(max_communicators),
      thread_(start_thread([this] { run(); })) {}

Communicators::~Communicators() {
  ends_ = true;
  thread_.join();
  for (const auto& [team, communicator] : all_) {
    if (communicator->comm == nullptr) continue;
    Result state = functions_.comm_finalize(communicator->comm);
    while (state == Result::in_progress &&
           functions_.comm_get_async_error(communicator->comm, &state) == Result::success)
      std::this_thread::sleep_for(kSoon);
    functions_.comm_destroy(communicator->comm);
  }
}

std::shared_ptr<TeamCommunicator> Communicators::communicator_of(const Key& team) {
  std::shared_ptr<TeamCommunicator>& communicator = all_[team];
  if (communicator == nullptr) {
    communicator = std::make_shared<TeamCommunicator>();
    communicator->team = team;
    communicator->sent = std::vector<std::atomic<std::int64_t>>(team.size());
    communicator->received = std::vector<std::atomic<std::int64_t>>(team.size());
  }
  return communicator;
}

void Communicators::to_others(const Key& team, const ControlMessage& message) {
  for (const int rank : others_of(team)) control_.send(rank, message);
}

bool Communicators::take_place(TeamCommunicator& communicator) {
  if (!communicator.has_place && places_ < max_communicators_) {
    communicator.has_place = true;
    ++places_;
  }
  return communicator.has_place;
}

std::shared_ptr<TeamCommunicator> Communicators::of(const Key& team, const std::string& operation) {
  std::shared_ptr<TeamCommunicator> communicator;
  {
    const std::lock_guard lock(mutex_);
    const bool is_new = all_.count(team) == 0;
    communicator = communicator_of(team);
    if (is_new && team.front() == Runtime::rank())
      want(team);
    else if (is_new)
      control_.send(team.front(), {Kind::want, team});
  }
  const auto known = [&] {
    return communicator->state == CommunicatorState::ready ||
           communicator->state == CommunicatorState::staged;
  };
  if (!known())
    wait_here(concat(operation, ", in making a communicator of ", functions_.name), known,
              [&] { return others_of(team); });
  return communicator->state == CommunicatorState::ready ? communicator : nullptr;
}

/// At the first member, with the lock: asks the others.
void Communicators::want(const Key& team) {
  TeamCommunicator& communicator = *communicator_of(team);
  answered(communicator, take_place(communicator));
  if (team.size() > 1) to_others(team, {Kind::ask, team});
}

/// At the first member, with the lock: when all have answered, tells them what they do.
void Communicators::answered(TeamCommunicator& communicator, bool yes) {
  ++(yes ? communicator.yes : communicator.no);
  if (communicator.yes + communicator.no < static_cast<int>(communicator.team.size())) return;
  if (communicator.no > 0) {
    to_others(communicator.team, {Kind::stage, communicator.team});
    if (std::exchange(communicator.has_place, false)) --places_;
    communicator.state = CommunicatorState::staged;
    return;
  }
  ControlMessage message{Kind::make, communicator.team};
  const Result result = functions_.get_unique_id(&message.id);
  if (result != Result::success) end(functions_.get_error_string(result));
  to_others(communicator.team, message);
  begin(communicator_of(communicator.team), message.id);
}

/// With the lock.
void Communicators::begin(const std::shared_ptr<TeamCommunicator>& communicator, const UniqueId& id) {
  const c10::DeviceGuard here(device_);
  communicator->state = CommunicatorState::making;
  const Result result =
      functions_.comm_init_rank(&communicator->comm, static_cast<int>(communicator->team.size()), id,
                                communicator->position_of(Runtime::rank()), /*blocking=*/0);
  if (result != Result::success && result != Result::in_progress)
    end(functions_.get_last_error(communicator->comm));
  making_.push_back(communicator);
}

void Communicators::read(const ControlChannel::Received& received) {
  const auto& [from, message] = received;
  const std::lock_guard lock(mutex_);
  const bool is_new = all_.count(message.team) == 0;
  TeamCommunicator& communicator = *communicator_of(message.team);
  switch (message.kind) {
    case Kind::want:
      if (is_new) want(message.team);
      break;
    case Kind::ask:
      control_.send(from, {take_place(communicator) ? Kind::yes : Kind::no, message.team});
      break;
    case Kind::yes:
    case Kind::no:
      answered(communicator, message.kind == Kind::yes);
      break;
    case Kind::make:
      begin(communicator_of(message.team), message.id);
      break;
    case Kind::stage:
      if (std::exchange(communicator.has_place, false)) --places_;
      communicator.state = CommunicatorState::staged;
      break;
    case Kind::counts: {
      const auto at = static_cast<std::size_t>(communicator.position_of(from));
      control_.send(from, {Kind::issued, message.team, {}, communicator.sent[at], communicator.received[at]});
      break;
    }
    case Kind::issued:
      issued_[{message.team, from}] = {message.sent, message.received};
      break;
  }
}

void Communicators::look_at_made() {
  const std::lock_guard lock(mutex_);
  std::erase_if(making_, [this](const std::shared_ptr<TeamCommunicator>& communicator) {
    Result state = Result::success;
    const Result asked = functions_.comm_get_async_error(communicator->comm, &state);
    if (asked != Result::success || (state != Result::success && state != Result::in_progress))
      end(functions_.get_last_error(communicator->comm));
    if (state == Result::success) communicator->state = CommunicatorState::ready;
    return state == Result::success;
  });
}

void Communicators::watch(Queued round) {
  const std::lock_guard lock(mutex_);
  queued_.push_back(std::move(round));
}

/// The peers that have not issued what the round needs of them, as far as they have said.
std::vector<int> Communicators::late(const Queued& round) const {
  std::vector<int> ranks;
  for (const auto& [peer, needed] : round.needs) {
    const auto said = issued_.find({round.communicator->team, peer});
    if (said == issued_.end() || said->second.first < needed.first || said->second.second < needed.second)
      ranks.push_back(peer);
  }
  return ranks;
}

void Communicators::end_if_failed(const Queued& round) {
  Result state = Result::success;
  functions_.comm_get_async_error(round.communicator->comm, &state);
  if (state != Result::success && state != Result::in_progress)
    end(concat(round.operation, ": ", functions_.get_last_error(round.communicator->comm)));
}

void Communicators::look_at_queued() {
  const Queued* first = nullptr;
  {
    const std::lock_guard lock(mutex_);
    while (!queued_.empty() && queued_.front().done()) {
      // An error is the last round's: those before it are done well.
      const Queued& round = queued_.front();
      if (round.number == round.communicator->rounds) end_if_failed(round);
      wait_.reset();
      queued_.pop_front();
    }
    if (queued_.empty()) return;
    first = &queued_.front();  // which only this thread takes away
  }
  const auto now = std::chrono::steady_clock::now();
  if (!wait_) {
    wait_.emplace(first->operation);
    asked_ = now;
    issued_.clear();
  }
  if (now - asked_ < kAsk) return;
  asked_ = now;
  end_if_failed(*first);
  wait_->look(late(*first));
  for (const auto& [peer, needed] : first->needs)
    control_.send(peer, {Kind::counts, first->communicator->team});
}

void Communicators::settle(Comm comm, Result result, const char* call) const {
  while (result == Result::in_progress) {
    std::this_thread::yield();
    RIESZ_CHECK(functions_.comm_get_async_error(comm, &result) == Result::success, functions_.name, ": ",
                call);
  }
  RIESZ_CHECK(result == Result::success, functions_.name, ": ", call, ": ",
              functions_.get_error_string(result), ": ", functions_.get_last_error(comm));
}

/// From the thread: aborts what the device waits for, so that the process can end, and ends the job.
void Communicators::end(const std::string& what) {
  for (const auto& [team, communicator] : all_) {
    if (communicator->comm != nullptr) functions_.comm_abort(communicator->comm);
  }
  end_job(concat("[rank ", Runtime::rank(), " of ", Runtime::size(), "] ", functions_.name, ": ", what));
}

void Communicators::run() try {
  name_thread("NCCL");
  const c10::DeviceGuard here(device_);
  for (;;) {
    while (const std::optional<ControlChannel::Received> received = control_.take()) read(*received);
    look_at_made();
    look_at_queued();
    bool busy = !making_.empty();
    {
      const std::lock_guard lock(mutex_);
      busy = busy || !queued_.empty();
    }
    if (ends_ && !busy) return;
    std::this_thread::sleep_for(busy ? std::chrono::microseconds(kSoon) : kIdle);
  }
} catch (...) {
  end_job(std::current_exception());
}

}  // namespace riesz::nccl
