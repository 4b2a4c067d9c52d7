// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/recording/recorder.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/recording/strand.h"
#include "riesz/comm/runtime.h"

namespace riesz {
namespace {

std::atomic<Recorder*> recorder_now = nullptr;
thread_local std::size_t strand_here = 0;
thread_local bool let_go_here = false;

}  // namespace

std::string operation_of(const Recording& recording, const RecordedRound& round) {
  return round.first < round.last ? recording.messages[round.first].label->text() : "nothing";
}

std::string origin_text(const std::shared_ptr<const Origin>& origin) {
  if (origin == nullptr) return "";
  const std::string phase = to_string(origin->phase);
  return origin->layer.empty() ? concat(", ", phase) : concat(" in layer ", origin->layer, ", ", phase);
}

Recorder* Recorder::current() { return recorder_now; }

void Recorder::set_current(Recorder* recorder) {
  recorder_now = recorder;
  if (recorder == nullptr) return;
  recorder->recording_.rank = Runtime::rank();
  recorder->recording_.workers = Runtime::size();
}

Recording Recorder::take() {
  const std::lock_guard lock(mutex_);
  // A channel of the transport may have been another buffer's before, so a buffer's numbers begin anywhere.
  std::map<std::pair<int, int>, std::int64_t> least;
  for (const RecordedMessage& message : recording_.messages) {
    const auto [at, fresh] = least.try_emplace({message.peer, message.channel}, message.number);
    at->second = std::min(at->second, message.number);
  }
  for (RecordedMessage& message : recording_.messages) {
    if (message.channel < 0) message.number -= least.at({message.peer, message.channel});
  }
  return std::exchange(recording_, {});
}

void Recorder::note(RecordedEvent::Kind kind, std::size_t subject) {
  recording_.events.push_back({kind, strand_here, subject, LayerScope::current()});
}

RecordedMessage Recorder::recorded(const Message& message, bool sent) {
  const auto buffer = buffer_channels_.find({message.key.channel, message.peer});
  const int channel = buffer == buffer_channels_.end() ? message.key.channel : -buffer->second;
  return {message.peer,
          sent,
          channel,
          message.key.number,
          message.span.count,
          message.span.data.scalar_type(),
          message.label};
}

std::size_t Recorder::posted(const std::vector<Message>& sends, const std::vector<Message>& receives) {
  const std::lock_guard lock(mutex_);
  RecordedRound round{recording_.messages.size(), 0, recording_.events.size()};
  for (const Message& message : sends) recording_.messages.push_back(recorded(message, true));
  for (const Message& message : receives) recording_.messages.push_back(recorded(message, false));
  round.last = recording_.messages.size();
  recording_.rounds.push_back(round);
  note(RecordedEvent::Kind::post, recording_.rounds.size() - 1);
  return recording_.rounds.size() - 1;
}

void Recorder::waited(std::size_t round) {
  const std::lock_guard lock(mutex_);
  recording_.rounds[round].let_go = let_go_here;
  note(RecordedEvent::Kind::wait, round);
}

void Recorder::made_channel(int channel, const std::vector<int>& peers) {
  const std::lock_guard lock(mutex_);
  for (const int peer : peers) buffer_channels_[{channel, peer}] = ++buffers_[peer];
}

std::size_t Recorder::begin(bool thread) {
  const std::lock_guard lock(mutex_);
  const std::size_t strand = recording_.strands++;
  if (thread) recording_.threads.push_back(strand);
  note(RecordedEvent::Kind::begin, strand);
  return strand;
}

void Recorder::joined(std::size_t strand) {
  const std::lock_guard lock(mutex_);
  note(RecordedEvent::Kind::join, strand);
}

Strand Strand::here() { return Strand(strand_here); }

void Strand::begin_thread() {
  if (Recorder* recorder = Recorder::current()) *this = Strand(recorder->begin(true));
}

Strand::Scope::Scope(Strand& strand, bool let_go) : outer_(strand_here), outer_let_go_(let_go_here) {
  Recorder* recorder = Recorder::current();
  if (recorder == nullptr) return;
  if (!strand.begun_) strand = Strand(recorder->begin(false));
  strand_here = strand.number_;
  let_go_here = let_go;
}

Strand::Scope::~Scope() {
  strand_here = outer_;
  let_go_here = outer_let_go_;
}

void Strand::join() const {
  Recorder* recorder = Recorder::current();
  if (recorder != nullptr && begun_ && number_ != strand_here) recorder->joined(number_);
}

}  // namespace riesz
