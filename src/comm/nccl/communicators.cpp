// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/nccl/communicators.h"

#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/thread.h"

namespace riesz::nccl {
namespace {

using Kind = Letter::Kind;
using MemberState = Member::State;

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

int Member::position_of(int rank) const {
  return static_cast<int>(std::lower_bound(team.begin(), team.end(), rank) - team.begin());
}

Communicators::Communicators(const Functions& functions, at::Device device, int most)
    : functions_(functions), device_(device), most_(most), thread_(start_thread([this] { run(); })) {}

Communicators::~Communicators() {
  ends_ = true;
  thread_.join();
  for (const auto& [team, member] : all_) {
    if (member->comm == nullptr) continue;
    Result state = functions_.comm_finalize(member->comm);
    while (state == Result::in_progress &&
           functions_.comm_get_async_error(member->comm, &state) == Result::success)
      std::this_thread::sleep_for(kSoon);
    functions_.comm_destroy(member->comm);
  }
}

std::shared_ptr<Member> Communicators::member_of(const Key& team) {
  std::shared_ptr<Member>& member = all_[team];
  if (member == nullptr) {
    member = std::make_shared<Member>();
    member->team = team;
    member->sent = std::vector<std::atomic<std::int64_t>>(team.size());
    member->received = std::vector<std::atomic<std::int64_t>>(team.size());
  }
  return member;
}

void Communicators::to_others(const Key& team, const Letter& letter) {
  for (const int rank : others_of(team)) mail_.send(rank, letter);
}

bool Communicators::take_place(Member& member) {
  if (!member.has_place && places_ < most_) {
    member.has_place = true;
    ++places_;
  }
  return member.has_place;
}

std::shared_ptr<Member> Communicators::of(const Key& team, const std::string& operation) {
  std::shared_ptr<Member> member;
  {
    const std::lock_guard lock(mutex_);
    const bool is_new = all_.count(team) == 0;
    member = member_of(team);
    if (is_new && team.front() == Runtime::rank())
      want(team);
    else if (is_new)
      mail_.send(team.front(), {Kind::want, team});
  }
  const auto known = [&] {
    return member->state == MemberState::ready || member->state == MemberState::staged;
  };
  if (!known())
    wait_here(concat(operation, ", in making a communicator of ", functions_.name), known,
              [&] { return others_of(team); });
  return member->state == MemberState::ready ? member : nullptr;
}

/// At the first member, with the lock: asks the others.
void Communicators::want(const Key& team) {
  Member& member = *member_of(team);
  answered(member, take_place(member));
  if (team.size() > 1) to_others(team, {Kind::ask, team});
}

/// At the first member, with the lock: when all have answered, tells them what they do.
void Communicators::answered(Member& member, bool yes) {
  ++(yes ? member.yes : member.no);
  if (member.yes + member.no < static_cast<int>(member.team.size())) return;
  if (member.no > 0) {
    to_others(member.team, {Kind::stage, member.team});
    if (std::exchange(member.has_place, false)) --places_;
    member.state = MemberState::staged;
    return;
  }
  Letter letter{Kind::make, member.team};
  const Result result = functions_.get_unique_id(&letter.id);
  if (result != Result::success) end(functions_.get_error_string(result));
  to_others(member.team, letter);
  begin(member_of(member.team), letter.id);
}

/// With the lock.
void Communicators::begin(const std::shared_ptr<Member>& member, const UniqueId& id) {
  const c10::DeviceGuard here(device_);
  member->state = MemberState::making;
  const Result result = functions_.comm_init_rank(&member->comm, static_cast<int>(member->team.size()), id,
                                                  member->position_of(Runtime::rank()), /*blocking=*/0);
  if (result != Result::success && result != Result::in_progress)
    end(functions_.get_last_error(member->comm));
  making_.push_back(member);
}

void Communicators::read(const Mail::Received& received) {
  const auto& [from, letter] = received;
  const std::lock_guard lock(mutex_);
  const bool is_new = all_.count(letter.team) == 0;
  Member& member = *member_of(letter.team);
  switch (letter.kind) {
    case Kind::want:
      if (is_new) want(letter.team);
      break;
    case Kind::ask:
      mail_.send(from, {take_place(member) ? Kind::yes : Kind::no, letter.team});
      break;
    case Kind::yes:
    case Kind::no:
      answered(member, letter.kind == Kind::yes);
      break;
    case Kind::make:
      begin(member_of(letter.team), letter.id);
      break;
    case Kind::stage:
      if (std::exchange(member.has_place, false)) --places_;
      member.state = MemberState::staged;
      break;
    case Kind::counts: {
      const auto at = static_cast<std::size_t>(member.position_of(from));
      mail_.send(from, {Kind::issued, letter.team, {}, member.sent[at], member.received[at]});
      break;
    }
    case Kind::issued:
      issued_[{letter.team, from}] = {letter.sent, letter.received};
      break;
  }
}

void Communicators::look_at_made() {
  const std::lock_guard lock(mutex_);
  std::erase_if(making_, [this](const std::shared_ptr<Member>& member) {
    Result state = Result::success;
    const Result asked = functions_.comm_get_async_error(member->comm, &state);
    if (asked != Result::success || (state != Result::success && state != Result::in_progress))
      end(functions_.get_last_error(member->comm));
    if (state == Result::success) member->state = MemberState::ready;
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
    const auto said = issued_.find({round.member->team, peer});
    if (said == issued_.end() || said->second.first < needed.first || said->second.second < needed.second)
      ranks.push_back(peer);
  }
  return ranks;
}

void Communicators::end_if_failed(const Queued& round) {
  Result state = Result::success;
  functions_.comm_get_async_error(round.member->comm, &state);
  if (state != Result::success && state != Result::in_progress)
    end(concat(round.operation, ": ", functions_.get_last_error(round.member->comm)));
}

void Communicators::look_at_queued() {
  const Queued* first = nullptr;
  {
    const std::lock_guard lock(mutex_);
    while (!queued_.empty() && queued_.front().done()) {
      end_if_failed(queued_.front());
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
  for (const auto& [peer, needed] : first->needs) mail_.send(peer, {Kind::counts, first->member->team});
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
  for (const auto& [team, member] : all_) {
    if (member->comm != nullptr) functions_.comm_abort(member->comm);
  }
  end_job(concat("[rank ", Runtime::rank(), " of ", Runtime::size(), "] ", functions_.name, ": ", what));
}

void Communicators::run() try {
  const c10::DeviceGuard here(device_);
  for (;;) {
    while (const std::optional<Mail::Received> received = mail_.take()) read(*received);
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
