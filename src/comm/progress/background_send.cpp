// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/background_send.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/progress/standstill.h"
#include "riesz/comm/recording/strand.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/staged_requests.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/table_text.h"
#include "riesz/comm/untaken.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

std::int64_t most_of_environment() {
  RIESZ_CHECK(std::getenv("RIESZ_UNSENT") == nullptr,
              "RIESZ_UNSENT is called RIESZ_UNTAKEN now; set that instead");
  const char* text = std::getenv("RIESZ_UNTAKEN");
  if (text == nullptr) return std::int64_t{1} << 30;
  const std::string_view number = text;
  std::int64_t bytes = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bytes);
  RIESZ_CHECK(error == std::errc() && end == number.data() + number.size() && bytes >= 0,
              "RIESZ_UNTAKEN is \"", number, "\"; it must be a number of bytes, 0 for no limit");
  return bytes;
}

std::atomic<std::int64_t>& most_in_bytes() {
  static std::atomic<std::int64_t> bytes(most_of_environment());
  return bytes;
}

class BackgroundSend final : public BackgroundTask {
 public:
  BackgroundSend(std::string operation, std::int64_t bytes, std::unique_ptr<Requests> sends)
      : operation_(std::move(operation)), left_(bytes), sends_(std::move(sends)) {
    Counters::instance().add_untaken(bytes);
  }
  ~BackgroundSend() override {
    if (sends_) Counters::instance().add_untaken(-left_);
  }

  /// Bytes that are not taken, as they are counted.
  std::int64_t bytes_left() const { return left_; }
  const std::string& text() const { return operation_; }

 private:
  bool progress() override {
    if (!sends_->done()) return false;
    sends_.reset();
    Counters::instance().add_untaken(-left_.exchange(0));
    return true;
  }
  const std::string& operation() const override { return operation_; }
  std::vector<int> waits_for() const override { return sends_ ? sends_->unfinished() : std::vector<int>{}; }

  std::string operation_;
  std::atomic<std::int64_t> left_;
  std::unique_ptr<Requests> sends_;
};

std::mutex sends_mutex;
std::vector<std::weak_ptr<BackgroundSend>> sends_under_way;

std::vector<std::shared_ptr<BackgroundSend>> sends_alive() {
  const std::lock_guard lock(sends_mutex);
  std::vector<std::shared_ptr<BackgroundSend>> all;
  std::erase_if(sends_under_way, [](const auto& each) { return each.expired(); });
  for (const auto& each : sends_under_way) {
    if (auto send = each.lock()) all.push_back(std::move(send));
  }
  return all;
}

/// A send that waits until others have taken some of what this worker has sent.
class HeldBack {
 public:
  HeldBack(std::string operation, std::shared_ptr<BackgroundSend> mine)
      : operation_(std::move(operation)), mine_(std::move(mine)) {}

  void wait() {
    const auto room = [this] { return has_room(); };
    if (room()) return;
    const std::string text = concat(operation_, ", held back since ", Counters::instance().untaken().bytes,
                                    " bytes are sent and not taken (RIESZ_UNTAKEN is ", most_untaken(), ")");
    wait_until(text, room, [this] { return awaited(); });
  }

 private:
  bool has_room() {
    for (const auto& each : sends_alive()) each->advance();
    const std::int64_t untaken = Counters::instance().untaken().bytes;
    return most_untaken() == 0 || untaken <= most_untaken() || untaken <= mine_->bytes_left();
  }

  /// World ranks of those who are to take something. @throws Error if they wait for this worker.
  std::vector<int> awaited() {
    std::vector<int> ranks;
    for (const auto& each : sends_alive()) {
      for (const int rank : each->awaited()) {
        if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
      }
    }
    const std::int64_t untaken = Counters::instance().untaken().bytes;
    const std::vector<WorkerStatus> board = StatusBoard::read();
    // What is not copied out of a device yet, they cannot take.
    const bool stuck =
        !ranks.empty() && Departures::waiting() == 0 && all_wait_for(Runtime::rank(), ranks, board);
    if (standstill_.lasts(stuck, movements(), untaken, std::chrono::steady_clock::now()))
      throw_stuck(untaken, ranks, board);
    return ranks;
  }

  [[noreturn]] void throw_stuck(std::int64_t untaken, const std::vector<int>& ranks,
                                const std::vector<WorkerStatus>& board) const {
    std::string text =
        concat(operation_, ": this worker has sent ", untaken, " bytes that rank ", list_text(ranks),
               " has not taken, more than the ", most_untaken(),
               " of RIESZ_UNTAKEN, so it sends no more; and "
               "there they wait for this worker. Receive before you send more, or set RIESZ_UNTAKEN to ",
               untaken, " or more, 0 for no limit. What is sent and not taken:");
    for (const auto& each : sends_alive()) {
      if (each->bytes_left() > 0)
        text += concat("\n  ", each->bytes_left(), " bytes to rank ", list_text(each->awaited()), " in ",
                       each->text());
    }
    for (const WorkerStatus& each : board) {
      if (std::find(ranks.begin(), ranks.end(), each.rank) != ranks.end()) text += "\n  " + to_string(each);
    }
    throw_error(text);
  }

  std::string operation_;
  std::shared_ptr<BackgroundSend> mine_;
  Standstill standstill_;
};

}  // namespace

void set_most_untaken(std::int64_t bytes) {
  RIESZ_CHECK(bytes >= 0, "set_most_untaken: ", bytes, " bytes; it must be zero or more");
  most_in_bytes() = bytes;
}

std::int64_t most_untaken() { return most_in_bytes(); }

void send_in_background(const std::string& operation, std::int64_t bytes, std::unique_ptr<Requests> sends) {
  Strand apart;
  if (const Strand::Scope recorded(apart, true); sends->done()) return;
  const auto send = std::make_shared<BackgroundSend>(operation, bytes, std::move(sends));
  {
    const std::lock_guard lock(sends_mutex);
    std::erase_if(sends_under_way, [](const auto& each) { return each.expired(); });
    sends_under_way.push_back(send);
  }
  run_in_background(send);
  if (!BackgroundTask::advances_here()) HeldBack(operation, send).wait();  // what goes on never waits
}

}  // namespace riesz
