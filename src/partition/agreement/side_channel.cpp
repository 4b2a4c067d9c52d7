// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/agreement/side_channel.h"

#include <algorithm>
#include <thread>

#include "riesz/comm/error.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/table_text.h"
#include "riesz/comm/wait.h"
#include "riesz/partition/agreement/texts.h"

namespace riesz {
namespace {

const Operation& operation() {
  static const Operation all("SideChannel");
  return all;
}

/// Between two looks whether the others have come; no wait here is urgent.
constexpr std::chrono::microseconds kShortestPause(50), kLongestPause(2000);
/// Between two looks whether their processes live.
constexpr std::chrono::milliseconds kLook(200);
/// What one has sent before it was gone has come by then.
constexpr std::chrono::seconds kLastMessages(2);

}  // namespace

class SideChannel::Sleep final : public WaitHandler {
 public:
  explicit Sleep(const std::atomic<Clock::time_point>& end) : end_(end) {}

  bool until(const std::string& what, const std::function<bool()>& done,
             const std::function<std::vector<int>()>& waits_for) override {
    Clock::time_point look = Clock::now() + kLook, alive = look;
    for (auto pause = kShortestPause; !done(); pause = std::min(2 * pause, kLongestPause)) {
      const Clock::time_point now = Clock::now();
      if (now > end_.load())
        throw_error(concat(what, ": rank ", list_text(waits_for()),
                           " has not come, and this worker waits no longer"));
      if (now > look) {
        const std::vector<int> gone = StatusBoard::gone(waits_for());
        if (gone.empty()) alive = now;
        if (now - alive > kLastMessages)
          throw_error(
              concat(what, ": the process of rank ", list_text(gone), " is gone, and nobody waits for it"));
        look = now + kLook;
      }
      std::this_thread::sleep_for(pause);
    }
    return true;
  }

 private:
  const std::atomic<Clock::time_point>& end_;
};

SideChannel::SideChannel(const Partition& P) : rank_(P.rank()), peers_(P.workers()) {
  peers_.erase(peers_.begin() + rank_);
  if (!peers_.empty()) channel_ = Communicator::world().new_team_channel(operation(), peers_);
}

/// Every worker's tensor, by rank.
std::vector<at::Tensor> SideChannel::exchange(const at::Tensor& mine) const {
  std::vector<at::Tensor> all;
  if (!peers_.empty()) all = Communicator::world().host_allgather(operation(), peers_, mine, channel_);
  all.insert(all.begin() + rank_, mine);
  return all;
}

std::vector<std::string> SideChannel::collect_texts(const std::string& mine) const {
  const Sleep sleep(end_);
  return exchange_texts(mine, [this](const at::Tensor& tensor) { return exchange(tensor); });
}

void SideChannel::wait_at_most(std::chrono::duration<double> time) {
  const auto now = Clock::now();
  const std::chrono::duration<double> most = Clock::time_point::max() - now;
  end_ = time.count() > 0 && time < most ? now + std::chrono::duration_cast<Clock::duration>(time)
                                         : Clock::time_point::max();
}

}  // namespace riesz
