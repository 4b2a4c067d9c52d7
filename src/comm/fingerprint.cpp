// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/fingerprint.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

constexpr std::size_t kText = 160;

struct Fingerprint {
  std::int64_t sends;    // bytes to the peer
  std::int64_t expects;  // and from it
  std::uint64_t digest;
  char operation[kText];
};

bool default_of_build() {
  const char* text = std::getenv("RIESZ_FINGERPRINTS");
#ifdef NDEBUG
  constexpr bool debug = false;
#else
  constexpr bool debug = true;
#endif
  if (text == nullptr) return debug;
  const std::string_view value = text;
  RIESZ_CHECK(value == "0" || value == "1", "RIESZ_FINGERPRINTS is \"", text, "\"; it must be 0 or 1");
  return value == "1";
}

std::atomic<bool>& switched_on() {
  static std::atomic<bool> on(default_of_build());
  return on;
}

std::int64_t bytes_of(const std::vector<Message>& messages, int peer) {
  std::int64_t bytes = 0;
  for (const Message& message : messages) {
    if (message.peer == peer) bytes += message.range.bytes();
  }
  return bytes;
}

Message header(const Round& round) {
  return {round.peer, round.tag, at::empty({static_cast<std::int64_t>(sizeof(Fingerprint))}, at::kByte)};
}

Fingerprint read(const Message& message) {
  Fingerprint print;
  std::memcpy(&print, message.range.data.const_data_ptr(), sizeof print);
  print.operation[kText - 1] = '\0';
  return print;
}

std::string text_of(const Fingerprint& print) {
  return concat(print.operation, " (sends ", print.sends, " bytes, expects ", print.expects, ")");
}

class CheckedExchange final : public Exchange {
 public:
  CheckedExchange(Transport& transport, const std::string& operation, const std::vector<Round>& rounds,
                  std::vector<Message> sends, std::vector<Message> receives)
      : transport_(transport), rounds_(rounds), sends_(std::move(sends)), receives_(std::move(receives)) {
    for (const Round& round : rounds_) {
      Fingerprint print{bytes_of(sends_, round.peer), bytes_of(receives_, round.peer), round.digest, {}};
      operation.copy(print.operation, kText - 1);
      mine_.push_back(header(round));
      theirs_.push_back(header(round));
      std::memcpy(mine_.back().range.data.mutable_data_ptr(), &print, sizeof print);
    }
    headers_ = transport_.post(mine_, theirs_);
  }

  bool done() override {
    if (!messages_) {
      if (!headers_->done()) return false;
      for (std::size_t i = 0; i < rounds_.size(); ++i) check(rounds_[i], read(mine_[i]), read(theirs_[i]));
      messages_ = transport_.post(std::move(sends_), std::move(receives_));
    }
    return messages_->done();
  }

  std::vector<int> unfinished() const override {
    return messages_ ? messages_->unfinished() : headers_->unfinished();
  }

 private:
  static void check(const Round& round, const Fingerprint& mine, const Fingerprint& theirs) {
    const bool same = mine.sends == theirs.expects && mine.expects == theirs.sends &&
                      mine.digest == theirs.digest &&
                      std::strncmp(mine.operation, theirs.operation, kText) == 0;
    RIESZ_CHECK(same, "the workers' programs differ: in call ", round.number + 1, " with rank ", round.peer,
                " this worker is in ", text_of(mine), ", rank ", round.peer, " in ", text_of(theirs),
                mine.digest == theirs.digest ? "" : ", of another kind or other pieces",
                "; every worker must call the same operators in the same order");
  }

  Transport& transport_;
  std::vector<Round> rounds_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::vector<Message> mine_;
  std::vector<Message> theirs_;
  std::unique_ptr<Exchange> headers_;
  std::unique_ptr<Exchange> messages_;
};

}  // namespace

bool fingerprints() { return switched_on(); }
void set_fingerprints(bool on) { switched_on() = on; }

std::unique_ptr<Exchange> post_checked(Transport& transport, const std::string& operation,
                                       const std::vector<Round>& rounds, std::vector<Message> sends,
                                       std::vector<Message> receives) {
  return std::make_unique<CheckedExchange>(transport, operation, rounds, std::move(sends),
                                           std::move(receives));
}

}  // namespace riesz
