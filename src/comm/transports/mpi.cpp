// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/transports/mpi.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/transports/mpi_check.h"
#include "riesz/comm/transports/mpi_left.h"

namespace riesz {
namespace {

/// What a message begins with, in front of its label's text and, if they are few, its bytes.
struct Head {
  std::uint64_t digest;
  std::int64_t bytes;
  std::int32_t type;
  std::int32_t text;
  std::int32_t body;  // the tag of what travels apart
  std::int32_t number;
};

/// Up to so many bytes travel behind the head, at the cost of a copy at either end; more travel apart.
constexpr std::int64_t kCarried = std::int64_t{1} << 13;

struct MpiFragment {
  int peer;
  int tag;
  std::byte* data;
  int bytes;
  Message* begins = nullptr;  // the message whose head it is
};

/// The tags of a channel. After so many messages to a peer a tag comes again; MPI keeps equal tags in order.
constexpr int kTags = 1 << 14;

int tag_of(const Message& message) { return message.key.channel * kTags + message.key.number % kTags; }

void append_fragments(std::vector<MpiFragment>& fragments, const Message& message, int tag,
                      std::int64_t largest) {
  std::byte* data = message.span.first();
  const std::int64_t bytes = message.span.bytes();
  for (std::int64_t at = 0; at < bytes; at += largest) {
    fragments.push_back({message.peer, tag, data + at, static_cast<int>(std::min(largest, bytes - at))});
  }
}

constexpr const char* kDiffer =
    ": the workers' programs differ; every worker must call the same operators in the same order";

int number_of_tags() {
  void* bound = nullptr;
  int known = 0;
  RIESZ_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &known));
  const std::int64_t tags = known != 0 ? std::int64_t{*static_cast<const int*>(bound)} + 1 : 1 << 15;
  return static_cast<int>(std::min<std::int64_t>(tags, std::int64_t{1} << 30));
}

/// Bodies are received once their heads have been read, in any order of the heads. So they must not be taken
/// for later heads, nor for each other: each has a tag of its own.
struct MpiCommunicators {
  MPI_Comm heads = MPI_COMM_NULL;
  MPI_Comm bodies = MPI_COMM_NULL;
  int tags = number_of_tags();
  std::atomic<unsigned> sent = 0;  // bodies

  MPI_Comm of(const MpiFragment& fragment) const { return fragment.begins != nullptr ? heads : bodies; }
  int next_body() { return static_cast<int>(sent++ % static_cast<unsigned>(tags)); }
};

class MpiRequests final : public Requests {
 public:
  MpiRequests(MpiCommunicators& communicators, std::int64_t largest, std::vector<Message> sends,
              std::vector<Message> receives)
      : communicators_(communicators),
        largest_(largest),
        sends_(std::move(sends)),
        receives_(std::move(receives)) {
    const std::size_t each = room();
    heads_ = std::make_unique_for_overwrite<std::byte[]>(each * (sends_.size() + receives_.size()));
    std::byte* head = heads_.get();
    for (Message& message : receives_) {
      fragments_.push_back({message.peer, tag_of(message), head, static_cast<int>(each), &message});
      head += each;
    }
    received_ = fragments_.size();
    for (Message& message : sends_) {
      const bool apart = message.span.bytes() > carried();
      const int body = apart ? communicators.next_body() : 0;
      fragments_.push_back({message.peer, tag_of(message), head, write(message, body, head), &message});
      if (apart) append_fragments(fragments_, message, body, largest);
      head += each;
    }
    posted_ = fragments_.size();
    requests_.resize(posted_, MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < posted_; ++i) post(i);
  }

  ~MpiRequests() override {
    if (over()) return;
    keep_posted({std::move(requests_), std::move(sends_), std::move(receives_), std::move(refused_),
                 std::move(heads_)});
  }
  MpiRequests(const MpiRequests&) = delete;
  MpiRequests& operator=(const MpiRequests&) = delete;

  bool done() override {
    if (failure_) std::rethrow_exception(failure_);
    try {
      while (next_ < requests_.size() && ended(next_)) ++next_;  // which may add to them
      if (next_ < received_ && ++asked_ % kAskedALook == 0) look_ahead();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
    return over();
  }

  std::vector<int> unfinished() const override {
    std::vector<int> peers;
    for (std::size_t i = next_; i < requests_.size(); ++i) {
      int finished = 0;
      MPI_Request_get_status(requests_[i], &finished, MPI_STATUS_IGNORE);
      const bool known = std::find(peers.begin(), peers.end(), fragments_[i].peer) != peers.end();
      if (finished == 0 && !known) peers.push_back(fragments_[i].peer);
    }
    return peers;
  }

 private:
  static constexpr unsigned kAskedALook = 64;

  bool over() const { return next_ == requests_.size(); }

  /// Asked one by one: Open MPI 4.1's calls for all requests never end if a message was too long for its
  /// receive. One that has ended before has ended again.
  bool ended(std::size_t i) {
    if (requests_[i] == MPI_REQUEST_NULL) return true;
    int finished = 0;
    MPI_Status status;
    const int code = MPI_Test(&requests_[i], &finished, &status);
    if (code == MPI_SUCCESS && finished == 0) return false;
    note_movement();
    if (i < received_ || i >= posted_)
      check_received(fragments_[i], code, status);
    else
      check_mpi(code, "MPI_Test for a message");
    return true;
  }

  /// The first that is waited for may never come, where a later one says why.
  void look_ahead() {
    for (std::size_t i = next_ + 1; i < received_; ++i) {
      if (fragments_[i].begins != nullptr && requests_[i] != MPI_REQUEST_NULL) ended(i);
    }
  }

  void post(std::size_t i) {
    const auto& [peer, tag, data, bytes, begins] = fragments_[i];
    const MPI_Comm on = communicators_.of(fragments_[i]);
    const bool sent = i >= received_ && i < posted_;
    check_mpi(sent ? MPI_Isend(data, bytes, MPI_BYTE, peer, tag, on, &requests_[i])
                   : MPI_Irecv(data, bytes, MPI_BYTE, peer, tag, on, &requests_[i]),
              sent ? "MPI_Isend" : "MPI_Irecv");
  }

  std::int64_t carried() const { return std::min(kCarried, largest_); }
  std::size_t room() const {
    return sizeof(Head) + Label::kMostTextBytes + static_cast<std::size_t>(carried());
  }

  /// What goes in front of a message, or all of it; how many bytes that are.
  int write(const Message& message, int body, std::byte* to) const {
    const Signature mine = message.signature();
    const Head head{mine.digest,
                    mine.bytes,
                    static_cast<std::int32_t>(mine.type),
                    static_cast<std::int32_t>(mine.text.size()),
                    body,
                    message.key.number};
    std::memcpy(to, &head, sizeof head);
    std::memcpy(to + sizeof head, mine.text.data(), mine.text.size());
    const std::size_t begin = sizeof head + mine.text.size();
    if (mine.bytes > carried()) return static_cast<int>(begin);
    std::copy_n(message.span.first(), mine.bytes, to + begin);  // of nothing too, which lies nowhere
    return static_cast<int>(begin) + static_cast<int>(mine.bytes);
  }

  /// A head has arrived: does its message belong here?
  void read(const MpiFragment& fragment) {
    Head head;
    std::memcpy(&head, fragment.data, sizeof head);
    const std::byte* text = fragment.data + sizeof head;
    const auto length = static_cast<std::size_t>(head.text);
    const Signature theirs{{reinterpret_cast<const char*>(text), length},
                           head.digest,
                           head.bytes,
                           static_cast<at::ScalarType>(head.type)};
    const Message& message = *fragment.begins;
    const bool in_turn = head.number == message.key.number;
    const bool expected = in_turn && theirs.matches(message.signature());
    if (expected && theirs.bytes <= carried()) std::copy_n(text + length, theirs.bytes, message.span.first());
    if (theirs.bytes > carried())
      receive_rest(expected ? message : refused(message, theirs.bytes), head.body);
    // Two such messages meet both places; which of them is looked at first depends on time.
    RIESZ_CHECK(in_turn, message.label->text(), ": messages ", std::min(message.key.number, head.number),
                " and ", std::max(message.key.number, head.number), " from rank ", fragment.peer,
                " are under way together in one channel; over MPI fewer than ", kTags,
                " messages may come in between: wait for this call before you make so many others, or make "
                "it in a channel of its own");
    if (!expected) throw_mismatch(fragment.peer, theirs, message.signature());
  }

  /// Not before the head has told its size: Open MPI 4.1 writes behind what is too short for a message.
  void receive_rest(const Message& message, int body) {
    append_fragments(fragments_, message, body, largest_);
    while (requests_.size() < fragments_.size()) {
      requests_.push_back(MPI_REQUEST_NULL);
      post(requests_.size() - 1);
    }
  }

  /// Where another message than the expected one goes, so that its sender does not wait.
  Message refused(const Message& expected, std::int64_t bytes) {
    refused_.push_back(at::empty({bytes}, at::kByte));
    return {expected.peer, expected.key, refused_.back()};
  }

  void check_received(MpiFragment fragment, int code, const MPI_Status& status) {
    int kind = MPI_SUCCESS;
    RIESZ_MPI(MPI_Error_class(code, &kind));
    RIESZ_CHECK(kind != MPI_ERR_TRUNCATE, "a message from rank ", fragment.peer, " has more than the ",
                fragment.bytes, " bytes that are expected", kDiffer);
    check_mpi(code, "MPI_Test for a message");
    if (fragment.begins != nullptr) return read(fragment);
    int bytes = 0;
    RIESZ_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
    RIESZ_CHECK(bytes == fragment.bytes, "a message from rank ", fragment.peer, " has ", bytes,
                " bytes where ", fragment.bytes, " are expected", kDiffer);
  }

  MpiCommunicators& communicators_;
  std::int64_t largest_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::unique_ptr<std::byte[]> heads_;  // of all messages, the received ones first
  std::vector<at::Tensor> refused_;
  std::vector<MpiFragment> fragments_;  // heads received, those sent, and what heads have announced
  std::size_t received_ = 0;
  std::size_t posted_ = 0;             // at once
  std::vector<MPI_Request> requests_;  // by fragment
  std::size_t next_ = 0;               // the first that is not done
  unsigned asked_ = 0;                 // in vain
  std::exception_ptr failure_;
};

}  // namespace

struct MpiTransport::Impl {
  MpiCommunicators communicators;
  std::int64_t largest_message;
  std::vector<int> hosts;
};

MpiTransport::MpiTransport(std::int64_t largest_message, std::vector<int> hosts)
    : impl_(std::make_unique<Impl>()) {
  RIESZ_CHECK(largest_message > 0 && largest_message <= (std::int64_t{1} << 30),
              "MpiTransport: the largest message has ", largest_message, " bytes; it must be from 1 to 2^30");
  impl_->largest_message = largest_message;
  impl_->hosts = std::move(hosts);
  for (MPI_Comm* each : {&impl_->communicators.heads, &impl_->communicators.bodies}) {
    RIESZ_MPI(MPI_Comm_dup(MPI_COMM_WORLD, each));
    RIESZ_MPI(MPI_Comm_set_errhandler(*each, MPI_ERRORS_RETURN));
  }
}

int MpiTransport::channels() const { return std::min(impl_->communicators.tags / kTags, kMaxChannels); }

const std::vector<int>& MpiTransport::hosts() const { return impl_->hosts; }

MpiTransport::~MpiTransport() {
  keep_communicator(impl_->communicators.heads);
  keep_communicator(impl_->communicators.bodies);
}

std::unique_ptr<Requests> MpiTransport::post(std::vector<Message> sends, std::vector<Message> receives) {
  return std::make_unique<MpiRequests>(impl_->communicators, impl_->largest_message, std::move(sends),
                                       std::move(receives));
}

}  // namespace riesz
