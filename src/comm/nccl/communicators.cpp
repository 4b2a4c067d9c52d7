// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/nccl/communicators.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>

#include <algorithm>
#include <memory>
#include <utility>

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
/// So long at most a report takes.
constexpr std::chrono::milliseconds kReport(400);

std::vector<int> others_of(const std::vector<int>& team) {
  std::vector<int> others = team;
  std::erase(others, Runtime::rank());
  return others;
}

/// Another than the transport's: streams of one priority are given out in turn.
c10::Stream connecting_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, /*isHighPriority=*/true);
}

}  // namespace

int TeamCommunicator::position_of(int rank) const {
  return static_cast<int>(std::lower_bound(team.begin(), team.end(), rank) - team.begin());
}

Communicators::Communicators(const Functions& functions, at::Device device, int max_communicators)
    : functions_(functions),
      device_(device),
      max_communicators_(max_communicators),
      stream_(connecting_stream(device)),
      bytes_(at::empty({Runtime::size() + 1}, at::device(device).dtype(at::kByte))),
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
  {
    const std::lock_guard comms(comms_mutex_);
    comms_.push_back(communicator->comm);
  }
  making_.push_back(communicator);
}

/// With the lock: the team has the turns of all its members before this one.
void Communicators::take_turn(const Key& team) {
  turns_.push_back(team);
  if (turns_.size() == 1) pass_turn();
}

/// With the lock: on behalf of the team that now has this process's turn.
void Communicators::pass_turn() {
  const Key& team = turns_.front();
  const auto next = std::upper_bound(team.begin(), team.end(), Runtime::rank());
  if (next != team.end()) return control_.send(*next, {Kind::turn, team});
  to_others(team, {Kind::connect, team});
  communicator_of(team)->has_turn = true;
}

/// With the lock: a byte to each other member, and one from it.
void Communicators::connect(TeamCommunicator& communicator) {
  communicator.state = CommunicatorState::connecting;
  auto* const bytes = static_cast<char*>(bytes_.data_ptr());
  const auto check = [&](Result result) {
    if (result != Result::success && result != Result::in_progress)
      end(functions_.get_last_error(communicator.comm));
  };
  check(functions_.group_start());
  for (const int rank : others_of(communicator.team)) {
    const int peer = communicator.position_of(rank);
    void* const queue = stream_.native_handle();
    check(functions_.send(bytes + Runtime::size(), 1, Type::uint8, peer, communicator.comm, queue));
    check(functions_.recv(bytes + rank, 1, Type::uint8, peer, communicator.comm, queue));
  }
  check(functions_.group_end());
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
    case Kind::turn:
      take_turn(message.team);
      break;
    case Kind::connect:
      communicator.has_turn = true;
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

/// With the lock: takes its making one step further, if the library is ready for it. True once all is done.
bool Communicators::is_made(TeamCommunicator& communicator) {
  if (communicator.state == CommunicatorState::ready) {
    if (!connected_()) return false;
    turns_.pop_front();
    if (!turns_.empty()) pass_turn();
    return true;
  }
  Result state = Result::success;
  const Result asked = functions_.comm_get_async_error(communicator.comm, &state);
  if (asked != Result::success || (state != Result::success && state != Result::in_progress))
    end(functions_.get_last_error(communicator.comm));
  if (state == Result::in_progress) return false;
  if (communicator.team.size() == 1) {
    communicator.state = CommunicatorState::ready;
    return true;
  }
  if (communicator.state == CommunicatorState::connecting) {
    const auto last = std::make_shared<c10::Event>(device_.type());
    last->record(stream_);
    connected_ = [last] { return last->query(); };
    communicator.state = CommunicatorState::ready;  // the bytes may still be on their way
    return false;
  }
  const bool is_first = communicator.team.front() == Runtime::rank();
  if (is_first && !std::exchange(communicator.has_asked_for_turn, true)) take_turn(communicator.team);
  if (communicator.has_turn) connect(communicator);
  return false;
}

void Communicators::look_at_made() {
  const std::lock_guard lock(mutex_);
  std::erase_if(making_, [this](const std::shared_ptr<TeamCommunicator>& communicator) {
    return is_made(*communicator);
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
  // Until then the device computes, and waits for nobody.
  if (!wait_ && first->begun()) {
    wait_.emplace(first->operation);
    asked_ = now;
    issued_.clear();
  }
  if (now - asked_ < kAsk) return;
  asked_ = now;
  end_if_failed(*first);
  if (!wait_) return;
  wait_->look(late(*first));
  for (const auto& [peer, needed] : first->needs)
    control_.send(peer, {Kind::counts, first->communicator->team});
}

void Communicators::settle(const Queued& round, Result result, const char* call) const {
  const Comm comm = round.communicator->comm;
  const auto settled = [&] {
    const Result asked = functions_.comm_get_async_error(comm, &result);
    if (asked != Result::success) result = asked;
    return result != Result::in_progress;
  };
  const auto peers = [&] {
    std::vector<int> ranks;
    for (const auto& each : round.needs) ranks.push_back(each.first);
    return ranks;
  };
  if (result == Result::in_progress) wait_here(concat(round.operation, ", in ", call), settled, peers);
  RIESZ_CHECK(result == Result::success, functions_.name, ": ", call, ": ",
              functions_.get_error_string(result), ": ", functions_.get_last_error(comm));
}

/// With the lock or without: ends the job. It aborts all communicators, so that no kernel keeps the process.
/// The report comes first, for an abort may wait, and the peers report it as an error of theirs.
void Communicators::end(const std::string& what) {
  start_thread([this] {
    std::vector<Comm> comms;
    {
      const std::lock_guard lock(comms_mutex_);
      comms = comms_;
    }
    std::this_thread::sleep_for(kReport);
    for (Comm each : comms) functions_.comm_abort(each);
  }).detach();
  end_job(concat("[rank ", Runtime::rank(), " of ", Runtime::size(), "] ", functions_.name, ": ", what));
}

void Communicators::run() try {
  name_thread("NCCL");
  const c10::DeviceGuard here(device_);
  for (;;) {
    while (const std::optional<ControlChannel::Received> received = control_.take()) read(*received);
    look_at_made();
    look_at_queued();
    bool busy = true;
    {
      const std::lock_guard lock(mutex_);
      busy = !making_.empty() || !queued_.empty() || !turns_.empty();
    }
    if (ends_ && !busy) return;
    std::this_thread::sleep_for(busy ? std::chrono::microseconds(kSoon) : kIdle);
  }
} catch (...) {
  end_job(std::current_exception());
}

}  // namespace riesz::nccl
