// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/nccl/transport.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/nccl/communicators.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/transports/mpi_check.h"

namespace riesz {
namespace {

constexpr std::size_t kIdentity = 320;  // a host's name and a device's identity

/// What each rank's device is called, by world rank. Collective over the job.
std::vector<std::string> identities(const nccl::Functions& functions, at::Device device) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::array<char, kIdentity> mine{};
  concat(static_cast<int>(device.type()), " ", host.data(), " ", functions.identity(device))
      .copy(mine.data(), mine.size() - 1);
  std::vector<std::array<char, kIdentity>> all(static_cast<std::size_t>(Runtime::size()));
  RIESZ_MPI(MPI_Allgather(mine.data(), static_cast<int>(kIdentity), MPI_CHAR, all.data(),
                          static_cast<int>(kIdentity), MPI_CHAR, MPI_COMM_WORLD));
  std::vector<std::string> names;
  for (const auto& each : all) names.emplace_back(each.data());
  const auto type = [](const std::string& name) { return name.substr(0, name.find(' ')); };
  for (const std::string& each : names)
    RIESZ_CHECK(type(each) == type(names.front()), functions.name,
                ": the ranks' devices are of several types; give all ranks one");
  return names;
}

std::vector<int> ascending(const CallTeam& team) {
  std::vector<int> ranks = *team;
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

NcclSettings NcclSettings::of_environment() {
  NcclSettings settings;
  const char* text = std::getenv("RIESZ_NCCL_COMMUNICATORS");
  if (text == nullptr) return settings;
  const std::string_view number = text;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), settings.max_communicators);
  RIESZ_CHECK(error == std::errc() && end == number.data() + number.size() && settings.max_communicators >= 0,
              "RIESZ_NCCL_COMMUNICATORS is \"", number, "\"; it must be a number, 0 or more");
  return settings;
}

struct NcclTransport::Impl {
  Impl(const nccl::Functions& given, at::Device on, const NcclSettings& settings)
      : functions(given),
        device(on),
        compare(settings.compare),
        names(identities(given, on)),
        stream(c10::impl::VirtualGuardImpl(on.type()).getStreamFromGlobalPool(on, /*isHighPriority=*/true)),
        communicators(given, on, settings.max_communicators) {}

  /// Do two of these ranks share a device?
  bool shares(const std::vector<int>& team) const {
    std::vector<std::string> of_team;
    for (const int rank : team) of_team.push_back(names[static_cast<std::size_t>(rank)]);
    std::sort(of_team.begin(), of_team.end());
    return std::adjacent_find(of_team.begin(), of_team.end()) != of_team.end();
  }

  const nccl::Functions& functions;
  const at::Device device;
  const bool compare;
  const std::vector<std::string> names;  // of devices, by rank
  const c10::Stream stream;
  std::mutex mutex;  // one round is issued at a time
  nccl::Communicators communicators;
};

NcclTransport::NcclTransport(const nccl::Functions& functions, at::Device device,
                             const NcclSettings& settings)
    : impl_(std::make_unique<Impl>(functions, device, settings)) {}

NcclTransport::~NcclTransport() = default;

at::DeviceType NcclTransport::type() const { return impl_->device.type(); }

bool NcclTransport::compares() const { return impl_->compare || consistency_checks(); }

bool NcclTransport::carries(const CallTeam& team, const std::string& operation) {
  const std::vector<int> ranks = ascending(team);
  return !impl_->shares(ranks) && impl_->communicators.of(ranks, operation) != nullptr;
}

void NcclTransport::post(const CallTeam& team, const std::vector<Message>& sends,
                         const std::vector<Message>& receives) {
  const nccl::Functions& library = impl_->functions;
  const std::string& text = (sends.empty() ? receives : sends).front().label->text();
  const std::shared_ptr<nccl::TeamCommunicator> communicator = impl_->communicators.of(ascending(team), text);
  const c10::DeviceGuard here(impl_->device);
  const std::lock_guard lock(impl_->mutex);
  const auto done = std::make_shared<c10::Event>(impl_->device.type());
  nccl::Queued round{
      communicator, text, ++communicator->rounds, [done] { return done->query(); }, {}};
  const c10::Stream current = c10::impl::VirtualGuardImpl(impl_->device.type()).getStream(impl_->device);
  c10::Event before(impl_->device.type());
  before.record(current);
  before.block(impl_->stream);
  void* const queue = impl_->stream.native_handle();
  const auto settle = [&](nccl::Result result, const char* call) {
    impl_->communicators.settle(communicator->comm, result, call);
  };
  settle(library.group_start(), "ncclGroupStart");
  for (const Message& each : sends) {
    const int peer = communicator->position_of(each.peer);
    settle(library.send(each.span.first(), static_cast<std::size_t>(each.span.bytes()), nccl::Type::uint8,
                        peer, communicator->comm, queue),
           "ncclSend");
    round.needs[each.peer].second = ++communicator->sent[static_cast<std::size_t>(peer)];
  }
  for (const Message& each : receives) {
    const int peer = communicator->position_of(each.peer);
    settle(library.recv(each.span.first(), static_cast<std::size_t>(each.span.bytes()), nccl::Type::uint8,
                        peer, communicator->comm, queue),
           "ncclRecv");
    round.needs[each.peer].first = ++communicator->received[static_cast<std::size_t>(peer)];
  }
  settle(library.group_end(), "ncclGroupEnd");
  done->record(impl_->stream);
  done->block(current);
  impl_->communicators.watch(std::move(round));
}

}  // namespace riesz
