// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/transports/router.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/shared/transport.h"
#include "riesz/comm/transports/mpi.h"
#include "riesz/comm/transports/mpi_check.h"

namespace riesz {
namespace {

class RoutedRequests final : public Requests {
 public:
  RoutedRequests(std::unique_ptr<Requests> near, std::unique_ptr<Requests> far)
      : near_(std::move(near)), far_(std::move(far)) {}

  bool done() override {
    const bool near_done = near_->done();
    return far_->done() && near_done;
  }

  std::vector<int> unfinished() const override {
    std::vector<int> peers = near_->unfinished();
    for (const int peer : far_->unfinished()) peers.push_back(peer);
    return peers;
  }

 private:
  std::unique_ptr<Requests> near_;
  std::unique_ptr<Requests> far_;
};

/// The world ranks of this worker's host, ascending.
std::vector<int> ranks_of_host(int ranks_per_host) {
  const int size = Runtime::size();
  MPI_Comm host = MPI_COMM_NULL;
  RIESZ_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  int members = 0;
  RIESZ_MPI(MPI_Comm_size(host, &members));
  std::vector<int> ranks(static_cast<std::size_t>(members));
  const int me = Runtime::rank();
  RIESZ_MPI(MPI_Allgather(&me, 1, MPI_INT, ranks.data(), 1, MPI_INT, host));
  MPI_Comm_free(&host);
  std::sort(ranks.begin(), ranks.end());
  const int each = ranks_per_host > 0 ? ranks_per_host : size;
  std::erase_if(ranks, [&](int rank) { return rank / each != me / each; });
  return ranks;
}

/// As `Transport::hosts` gives them; `host` is this worker's.
std::vector<int> all_hosts(const std::vector<int>& host) {
  std::vector<int> hosts(static_cast<std::size_t>(Runtime::size()));
  RIESZ_MPI(MPI_Allgather(&host.front(), 1, MPI_INT, hosts.data(), 1, MPI_INT, MPI_COMM_WORLD));
  const bool one = std::all_of(hosts.begin(), hosts.end(), [&](int each) { return each == hosts.front(); });
  return one ? std::vector<int>{} : hosts;
}

/// There are never messages to itself, for which Open MPI's call would return without making progress.
void make_mpi_progress() {
  int there = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &there, MPI_STATUS_IGNORE);
}

const char* name_of(int way) {
  using Way = TransportSettings::Way;
  return way == static_cast<int>(Way::automatic) ? "auto"
                                                 : (way == static_cast<int>(Way::shared) ? "shared" : "mpi");
}

/// Each way makes its transports in calls of its own that all ranks must make.
void check_alike(const TransportSettings& mine) {
  const std::array<int, 2> numbers{static_cast<int>(mine.way), mine.ranks_per_host};
  std::vector<std::array<int, 2>> all(static_cast<std::size_t>(Runtime::size()));
  RIESZ_MPI(MPI_Allgather(numbers.data(), 2, MPI_INT, all.data(), 2, MPI_INT, MPI_COMM_WORLD));
  const auto other = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each != all[0]; });
  if (other == all.end()) return;
  const auto [way, hosts] = *other;
  const auto rank = other - all.begin();
  const char* remedy = "; set it alike on all ranks, such as by mpirun -x NAME=VALUE";
  RIESZ_CHECK(way == all[0][0], "RIESZ_TRANSPORT is ", name_of(all[0][0]), " on rank 0, and ", name_of(way),
              " on rank ", rank, remedy);
  throw_error(concat("RIESZ_HOSTS is ", all[0][1], " on rank 0, and ", hosts, " on rank ", rank,
                     " (0: not set)", remedy));
}

}  // namespace

RouterTransport::RouterTransport(std::unique_ptr<Transport> near, std::unique_ptr<Transport> far)
    : near_(std::move(near)), far_(std::move(far)), doorbell_(near_->doorbell()) {
  for (int rank = 0; rank < Runtime::size(); ++rank) {
    const bool shares = near_->shares_memory_with(rank);
    if (!shares) doorbell_ = nullptr;
    goes_near_.push_back(shares && rank != Runtime::rank() ? 1 : 0);
  }
  if (!doorbell_) poke_.emplace(make_mpi_progress);
}

std::unique_ptr<Requests> RouterTransport::post(std::vector<Message> sends, std::vector<Message> receives) {
  const auto near = [this](const Message& message) { return is_near(message); };
  const auto far_of = [&](std::vector<Message>& messages) {
    const auto begin = std::stable_partition(messages.begin(), messages.end(), near);
    std::vector<Message> far(std::make_move_iterator(begin), std::make_move_iterator(messages.end()));
    messages.erase(begin, messages.end());
    return far;
  };
  if (std::all_of(sends.begin(), sends.end(), near) && std::all_of(receives.begin(), receives.end(), near))
    return near_->post(std::move(sends), std::move(receives));
  std::vector<Message> far_sends = far_of(sends);
  std::vector<Message> far_receives = far_of(receives);
  std::unique_ptr<Requests> far = far_->post(std::move(far_sends), std::move(far_receives));
  if (sends.empty() && receives.empty()) return far;
  return std::make_unique<RoutedRequests>(near_->post(std::move(sends), std::move(receives)), std::move(far));
}

TransportSettings TransportSettings::of_environment() {
  TransportSettings settings;
  if (const char* text = std::getenv("RIESZ_TRANSPORT")) {
    const std::string_view way = text;
    RIESZ_CHECK(way == "auto" || way == "shared" || way == "mpi", "RIESZ_TRANSPORT is \"", way,
                "\"; it must be auto, shared or mpi");
    settings.way = way == "auto" ? Way::automatic : (way == "shared" ? Way::shared : Way::mpi);
  }
  if (const char* text = std::getenv("RIESZ_HOSTS")) {
    const std::string_view number = text;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), settings.ranks_per_host);
    RIESZ_CHECK(error == std::errc() && end == number.data() + number.size() && settings.ranks_per_host > 0,
                "RIESZ_HOSTS is \"", number, "\"; it must be a number of ranks per host, 1 or more");
  }
  return settings;
}

std::unique_ptr<Transport> make_transport(const TransportSettings& settings) {
  using Way = TransportSettings::Way;
  check_alike(settings);
  const std::vector<int> host = ranks_of_host(settings.ranks_per_host);
  const std::vector<int> hosts = all_hosts(host);
  auto far = std::make_unique<MpiTransport>(std::int64_t{1} << 30, hosts);
  if (settings.way == Way::mpi) return far;
  RIESZ_CHECK(hosts.empty() || settings.way == Way::automatic, "RIESZ_TRANSPORT is shared, but the ",
              Runtime::size(), " workers are on several hosts: ", host.size(),
              " on this one; between hosts it must be auto or mpi");
  return std::make_unique<RouterTransport>(std::make_unique<SharedTransport>(host), std::move(far));
}

}  // namespace riesz
