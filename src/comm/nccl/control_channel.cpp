// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/nccl/control_channel.h"

#include <cstring>

#include "riesz/comm/transports/mpi_check.h"
#include "riesz/comm/transports/mpi_left.h"

namespace riesz::nccl {
namespace {

constexpr std::size_t kIdWords = sizeof(UniqueId) / sizeof(std::int32_t);
constexpr std::size_t kFixed = 1 + 4 + kIdWords;  // kind, two counts, the id; then the team

std::vector<std::int32_t> words_of(const ControlMessage& message) {
  std::vector<std::int32_t> words(kFixed);
  words[0] = static_cast<std::int32_t>(message.kind);
  std::memcpy(&words[1], &message.sent, sizeof message.sent);
  std::memcpy(&words[3], &message.received, sizeof message.received);
  std::memcpy(&words[5], &message.id, sizeof message.id);
  words.insert(words.end(), message.team.begin(), message.team.end());
  return words;
}

ControlMessage message_of(const std::vector<std::int32_t>& words) {
  ControlMessage message{static_cast<ControlMessage::Kind>(words[0]), {words.begin() + kFixed, words.end()}};
  std::memcpy(&message.sent, &words[1], sizeof message.sent);
  std::memcpy(&message.received, &words[3], sizeof message.received);
  std::memcpy(&message.id, &words[5], sizeof message.id);
  return message;
}

}  // namespace

ControlChannel::ControlChannel() { RIESZ_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm_)); }

ControlChannel::~ControlChannel() {
  for (Sent& each : sent_) {  // nobody reads it any more
    MPI_Cancel(&each.request);
    MPI_Wait(&each.request, MPI_STATUS_IGNORE);
  }
  keep_communicator(comm_);
}

void ControlChannel::send(int rank, const ControlMessage& message) {
  const std::lock_guard lock(mutex_);
  sent_.push_back({words_of(message), MPI_REQUEST_NULL});
  Sent& last = sent_.back();
  RIESZ_MPI(MPI_Isend(last.words.data(), static_cast<int>(last.words.size()), MPI_INT32_T, rank, 0, comm_,
                      &last.request));
}

std::optional<ControlChannel::Received> ControlChannel::take() {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(sent_, [](Sent& each) {
      int done = 0;
      RIESZ_MPI(MPI_Test(&each.request, &done, MPI_STATUS_IGNORE));
      return done != 0;
    });
  }
  int there = 0, count = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  RIESZ_MPI(MPI_Improbe(MPI_ANY_SOURCE, 0, comm_, &there, &message, &status));
  if (there == 0) return std::nullopt;
  RIESZ_MPI(MPI_Get_count(&status, MPI_INT32_T, &count));
  std::vector<std::int32_t> words(static_cast<std::size_t>(count));
  RIESZ_MPI(MPI_Mrecv(words.data(), count, MPI_INT32_T, &message, MPI_STATUS_IGNORE));
  return Received{status.MPI_SOURCE, message_of(words)};
}

}  // namespace riesz::nccl
