// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/nccl/transport.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/nccl/communicators.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/transports/mpi_check.h"

namespace riesz {
namespace {

constexpr std::size_t kIdentity = 400;  // a host's name, its boot id and a device's identity

/// The boot id: a number that a host has since it was started. Two hosts may have one name.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string number;
  std::getline(file, number);
  return number;
}

/// What each rank's device is called, by world rank. Collective over the job.
std::vector<std::string> identities(const nccl::Functions& functions, at::Device device) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::array<char, kIdentity> mine{};
  concat(static_cast<int>(device.type()), " ", host.data(), " ", boot_id(), " ", functions.identity(device))
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

/// Once for the job, where ranks share devices: nobody is to take that for NCCL's speed.
void note_sharing(const nccl::Functions& functions, const std::vector<std::string>& names) {
  const std::set<std::string> devices(names.begin(), names.end());
  if (devices.size() == names.size() || Runtime::rank() != 0) return;
  std::fprintf(stderr,
               "note: %zu ranks share %zu devices, so teams of ranks of one device go through the "
               "host's memory, and not by %s\n",
               names.size(), devices.size(), functions.name);
}

std::vector<int> ascending(const CallTeam& team) {
  std::vector<int> ranks = *team;
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// A group of this thread's calls. Whatever leaves it ends it: else later groups would be a part of it, and
/// nothing would be launched.
class Group {
 public:
  explicit Group(const nccl::Functions& functions) : functions_(functions) {}
  ~Group() {
    if (open_) functions_.group_end();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  nccl::Result begin() {
    const nccl::Result result = functions_.group_start();
    open_ = result == nccl::Result::success;
    return result;
  }
  nccl::Result end() {
    open_ = false;
    return functions_.group_end();
  }

 private:
  const nccl::Functions& functions_;
  bool open_ = false;
};

/// NCCL connects for a collective at the first that needs it, which would wait for the other ranks' programs.
/// So it is to connect for all of them when a communicator is made, unless the user has set something else.
bool with_connections(bool collectives) {
  if (collectives) setenv("NCCL_RUNTIME_CONNECT", "0", /*overwrite=*/0);
  return collectives;
}

/// The numbers of which NCCL sees an element.
struct Numbers {
  nccl::Type type;
  std::size_t of_an_element = 1;
};

std::optional<Numbers> numbers_of(at::ScalarType type) {
  switch (type) {
    case at::kChar:
      return Numbers{nccl::Type::int8};
    case at::kByte:
      return Numbers{nccl::Type::uint8};
    case at::kInt:
      return Numbers{nccl::Type::int32};
    case at::kLong:
      return Numbers{nccl::Type::int64};
    case at::kHalf:
      return Numbers{nccl::Type::float16};
    case at::kBFloat16:
      return Numbers{nccl::Type::bfloat16};
    case at::kFloat:
      return Numbers{nccl::Type::float32};
    case at::kDouble:
      return Numbers{nccl::Type::float64};
    case at::kComplexFloat:
      return Numbers{nccl::Type::float32, 2};
    case at::kComplexDouble:
      return Numbers{nccl::Type::float64, 2};
    default:
      return std::nullopt;
  }
}

}  // namespace

NcclSettings NcclSettings::of_environment() {
  NcclSettings settings;
  if (const char* text = std::getenv("RIESZ_NCCL_COMMUNICATORS")) {
    const std::string_view number = text;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), settings.max_communicators);
    RIESZ_CHECK(
        error == std::errc() && end == number.data() + number.size() && settings.max_communicators >= 0,
        "RIESZ_NCCL_COMMUNICATORS is \"", number, "\"; it must be a number, 0 or more");
  }
  if (const char* text = std::getenv("RIESZ_NCCL_COLLECTIVES")) {
    const std::string_view given = text;
    RIESZ_CHECK(given == "rounds" || given == "library", "RIESZ_NCCL_COLLECTIVES is \"", given,
                "\"; it must be rounds (sums in rank order, as on the CPU) or library (NCCL's own)");
    settings.collectives = given == "library";
  }
  return settings;
}

struct NcclTransport::Impl {
  Impl(const nccl::Functions& given, at::Device on, const NcclSettings& settings)
      : functions(given),
        device(on),
        compare(settings.compare),
        collectives(with_connections(settings.collectives)),
        names(identities(given, on)),
        stream(c10::impl::VirtualGuardImpl(on.type()).getStreamFromGlobalPool(on, /*isHighPriority=*/true)),
        communicators(given, on, settings.max_communicators) {
    note_sharing(functions, names);
    newest = this;
  }
  ~Impl() {
    if (newest == this) newest = nullptr;
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Do two of these ranks share a device?
  bool shares(const std::vector<int>& team) const {
    std::vector<std::string> of_team;
    for (const int rank : team) of_team.push_back(names[static_cast<std::size_t>(rank)]);
    std::sort(of_team.begin(), of_team.end());
    return std::adjacent_find(of_team.begin(), of_team.end()) != of_team.end();
  }

  /// Queues calls of the team's communicator between what the current stream has now and what it gets next.
  /// After one that has failed the peers' next calls would meet others of ours than theirs.
  template <typename Calls>
  void queue(const CallTeam& team, const std::string& operation, const Calls& calls) {
    const std::shared_ptr<nccl::TeamCommunicator> communicator = communicators.of(ascending(team), operation);
    const c10::DeviceGuard here(device);
    const std::lock_guard lock(mutex);
    RIESZ_CHECK(failed.empty(), functions.name, ": ", operation, ": a call of ", failed,
                " failed before, and workers may wait for it; end the program");
    const auto begun = std::make_shared<c10::Event>(device.type());
    const auto done = std::make_shared<c10::Event>(device.type());
    nccl::Queued round{communicator,
                       operation,
                       ++communicator->rounds,
                       [begun] { return begun->query(); },
                       [done] { return done->query(); },
                       {}};
    const c10::Stream current = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
    c10::Event before(device.type());
    before.record(current);
    before.block(stream);
    begun->record(stream);
    try {
      calls(*communicator, round);
    } catch (...) {
      failed = operation;
      throw;
    }
    done->record(stream);
    done->block(current);
    communicators.watch(std::move(round));
  }

  const nccl::Functions& functions;
  const at::Device device;
  const bool compare, collectives;
  const std::vector<std::string> names;  // of devices, by rank
  const c10::Stream stream;
  std::mutex mutex;    // one round is issued at a time
  std::string failed;  // the operation whose call has failed
  nccl::Communicators communicators;
  static inline const Impl* newest = nullptr;
};

NcclTransport::NcclTransport(const nccl::Functions& functions, at::Device device,
                             const NcclSettings& settings)
    : impl_(std::make_unique<Impl>(functions, device, settings)) {}

NcclTransport::~NcclTransport() = default;

bool NcclTransport::is_made(const nccl::Functions& functions, at::Device device) {
  return Impl::newest != nullptr && &Impl::newest->functions == &functions && Impl::newest->device == device;
}

at::DeviceType NcclTransport::type() const { return impl_->device.type(); }

bool NcclTransport::compares() const { return impl_->compare || consistency_checks(); }

bool NcclTransport::carries(const CallTeam& team, const std::string& operation) {
  const std::vector<int> ranks = ascending(team);
  return !impl_->shares(ranks) && impl_->communicators.of(ranks, operation) != nullptr;
}

c10::Stream NcclTransport::stream() const { return impl_->stream; }

bool NcclTransport::has(LibraryCollective collective, const CallTeam& team, at::ScalarType type) const {
  const bool fits = collective == LibraryCollective::all_reduce || std::is_sorted(team->begin(), team->end());
  return impl_->collectives && fits && numbers_of(type).has_value();
}

void NcclTransport::post(const CallTeam& team, const std::vector<Message>& sends,
                         const std::vector<Message>& receives) {
  const nccl::Functions& library = impl_->functions;
  const std::string& text = (sends.empty() ? receives : sends).front().label->text();
  void* const queue = impl_->stream.native_handle();
  impl_->queue(team, text, [&](nccl::TeamCommunicator& communicator, nccl::Queued& round) {
    const auto settle = [&](nccl::Result result, const char* call) {
      impl_->communicators.settle(round, result, call);
    };
    Group group(library);
    settle(group.begin(), "ncclGroupStart");
    for (const Message& each : sends) {
      const int peer = communicator.position_of(each.peer);
      settle(library.send(each.span.first(), static_cast<std::size_t>(each.span.bytes()), nccl::Type::uint8,
                          peer, communicator.comm, queue),
             "ncclSend");
      round.needs[each.peer].second = ++communicator.sent[static_cast<std::size_t>(peer)];
    }
    for (const Message& each : receives) {
      const int peer = communicator.position_of(each.peer);
      settle(library.recv(each.span.first(), static_cast<std::size_t>(each.span.bytes()), nccl::Type::uint8,
                          peer, communicator.comm, queue),
             "ncclRecv");
      round.needs[each.peer].first = ++communicator.received[static_cast<std::size_t>(peer)];
    }
    settle(group.end(), "ncclGroupEnd");
  });
}

void NcclTransport::post(const CallTeam& team, LibraryCollective collective, const TensorSpan& from,
                         const TensorSpan& to, const std::string& operation) {
  const nccl::Functions& library = impl_->functions;
  const Numbers numbers = *numbers_of(from.data.scalar_type());
  const auto count = [&](const TensorSpan& span) {
    return static_cast<std::size_t>(span.count) * numbers.of_an_element;
  };
  void* const queue = impl_->stream.native_handle();
  impl_->queue(team, operation, [&](nccl::TeamCommunicator& communicator, nccl::Queued& round) {
    const auto settle = [&](nccl::Result result, const char* call) {
      impl_->communicators.settle(round, result, call);
    };
    // Each member needs all others, as if by a message both ways.
    for (std::size_t i = 0; i < communicator.team.size(); ++i) {
      if (communicator.team[i] == Runtime::rank()) continue;
      round.needs[communicator.team[i]] = {++communicator.received[i], ++communicator.sent[i]};
    }
    switch (collective) {
      case LibraryCollective::all_reduce:
        settle(library.all_reduce(from.first(), to.first(), count(to), numbers.type, nccl::Reduction::sum,
                                  communicator.comm, queue),
               "ncclAllReduce");
        break;
      case LibraryCollective::all_gather:
        settle(
            library.all_gather(from.first(), to.first(), count(from), numbers.type, communicator.comm, queue),
            "ncclAllGather");
        break;
      case LibraryCollective::reduce_scatter:
        settle(library.reduce_scatter(from.first(), to.first(), count(to), numbers.type, nccl::Reduction::sum,
                                      communicator.comm, queue),
               "ncclReduceScatter");
        break;
    }
  });
}

}  // namespace riesz
