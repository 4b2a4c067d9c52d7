// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/team/buffer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <utility>

#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/side_stream.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/table_text.h"
#include "riesz/comm/team/collectives.h"

namespace riesz {

struct TeamBuffer::Impl {
  std::shared_ptr<const std::vector<int>> team;
  int position = 0;
  std::shared_ptr<TeamWindows> windows;  // on one host, of several members; or nullptr
  TeamChannel channel;                   // between hosts; or nullptr
  at::Tensor local;
  detail::PlanCache<TeamCall> calls{256};  // of all buckets that share the buffer
};

namespace {

std::string team_text(const std::vector<int>& team) { return "[" + list_text(team) + "]"; }

int position_in(const std::vector<int>& team) {
  const std::set<int> different(team.begin(), team.end());
  RIESZ_CHECK(different.size() == team.size(), "TeamBuffer: the team ", team_text(team), " has a rank twice");
  RIESZ_CHECK(!team.empty() && *different.begin() >= 0 && *different.rbegin() < Runtime::size(),
              "TeamBuffer: the team ", team_text(team), "; it needs ranks from 0 to ", Runtime::size() - 1);
  const auto found = std::find(team.begin(), team.end(), Runtime::rank());
  RIESZ_CHECK(found != team.end(), "TeamBuffer: this worker is not of the team ", team_text(team),
              "; only members make the buffer");
  return static_cast<int>(found - team.begin());
}

/// Where a member is not at hand, which is so for all or for none.
TeamChannel channel_of(const std::vector<int>& team, int position,
                       const std::shared_ptr<TeamWindows>& windows) {
  std::vector<int> others;
  bool far = false;
  for (int i = 0; i < static_cast<int>(team.size()); ++i) {
    if (i == position) continue;
    others.push_back(team[static_cast<std::size_t>(i)]);
    far = far || !windows || !windows->has(i);
  }
  if (!far) return nullptr;
  return Communicator::world().new_team_channel({"TeamBuffer", "TeamBuffer of " + team_text(team)}, others);
}

const char* name_of(TeamCall::Kind kind) {
  switch (kind) {
    case TeamCall::Kind::all_reduce:
      return "all_reduce";
    case TeamCall::Kind::reduce_scatter:
      return "reduce_scatter";
    case TeamCall::Kind::all_gather:
      return "all_gather";
  }
  return "";
}

bool is_of(const TeamCall& call, TeamCall::Kind kind, const Operation& operation, const PieceOffsets& pieces,
           std::int64_t from) {
  return call.kind == kind && call.from == from && call.pieces == pieces &&
         call.operation.name == operation.name && call.operation.text == operation.text;
}

TeamCall new_call(TeamCall::Kind kind, const TeamBuffer::Impl& buffer, const Operation& operation,
                  const PieceOffsets& pieces, std::int64_t from) {
  const bool ascend = std::is_sorted(pieces.begin(), pieces.end());
  RIESZ_CHECK(pieces.size() == buffer.team->size() + 1 && pieces.front() >= 0 && ascend, operation.text,
              ": pieces that begin at ", "[", list_text(pieces), "]", " for a team of ", buffer.team->size(),
              "; one begin each and the end are needed, ascending from zero or more");
  DigestBuilder details;
  details.mix(static_cast<std::uint64_t>(kind)).mix(static_cast<std::uint64_t>(buffer.local.scalar_type()));
  for (const std::int64_t begin : pieces) details.mix(static_cast<std::uint64_t>(begin));
  for (const int rank : *buffer.team) details.mix(static_cast<std::uint64_t>(rank));
  const std::string where = from < 0 ? "" : concat(" from pieces at element ", from);
  const std::string more =
      concat(" (", name_of(kind), " of ", pieces.back() - pieces.front(), " elements", where, ")");
  return {kind, Operation(operation.name, operation.text, more, details), pieces, from};
}

/// `from`: as in TeamCall.
TeamCollectiveSpec task_of(TeamCall::Kind kind, TeamBuffer::Impl& buffer, const Operation& operation,
                           const PieceOffsets& pieces, std::int64_t from = -1) {
  auto call =
      buffer.calls.get([&](const TeamCall& made) { return is_of(made, kind, operation, pieces, from); },
                       [&] { return new_call(kind, buffer, operation, pieces, from); });
  return {std::move(call), buffer.team, buffer.position, buffer.local, buffer.windows, buffer.channel};
}

void check_fits(const TeamCollectiveSpec& task, std::int64_t elements) {
  RIESZ_CHECK(elements <= task.local.numel(), task.operation().text, ": ", elements,
              " elements of a buffer of ", task.local.numel());
}

void check_out(const TeamCollectiveSpec& task, const at::Tensor& out) {
  RIESZ_CHECK(out.defined() && out.dim() == 1 && out.is_contiguous(), task.operation().text,
              ": out is not a 1-D contiguous tensor");
  RIESZ_CHECK(out.scalar_type() == task.local.scalar_type() && out.device() == task.local.device(),
              task.operation().text, ": out has ", out.scalar_type(), " on ", out.device(), ", the buffer ",
              task.local.scalar_type(), " on ", task.local.device(), "; they must be alike");
}

bool apart(const at::Tensor& a, const at::Tensor& b) {
  const auto begin = [](const at::Tensor& x) { return static_cast<const std::byte*>(x.const_data_ptr()); };
  return begin(a) + a.nbytes() <= begin(b) || begin(b) + b.nbytes() <= begin(a);
}

/// It makes what progress it can without waiting; the background does the rest.
std::shared_ptr<TeamCollective> begun(std::shared_ptr<TeamCollective> collective) {
  // Where all come together, a small collective ends sooner than the background wakes up.
  constexpr std::chrono::microseconds kSoon(3);
  if (collective->advance()) return collective;
  const auto begin = std::chrono::steady_clock::now();
  do {
    if (collective->advance()) return collective;
  } while (std::chrono::steady_clock::now() - begin < kSoon);
  run_in_background(collective);
  return collective;
}

/// Begins what `make` makes; from device to device beside the current stream, and by the device's library if
/// it has that.
template <typename Make>
std::shared_ptr<TeamCollective> begin(TeamCollectiveSpec task, const at::Tensor& out, bool add,
                                      const Make& make) {
  const at::NoGradGuard no_gradient;
  const Operation& operation = task.operation();
  const PieceOffsets& pieces = task.call->pieces;
  StatusBoard::enter(operation.text);
  if (pieces.size() > 2 && pieces.back() > pieces.front()) Counters::instance().begin(operation);
  DeviceTransport* const transport =
      Communicator::world().device_transport(task.local.device(), task.team, operation.text);
  if (transport == nullptr) return begun(make(std::move(task)));
  const DeviceStream::Scope beside(
      side_stream(*transport, out.defined() ? std::vector{task.local, out} : std::vector{task.local}));
  if (auto collective = make_of_library(task, *transport, out, add)) return begun(std::move(collective));
  return begun(make(std::move(task)));
}

}  // namespace

TeamBuffer::TeamBuffer(std::vector<int> team, std::int64_t elements, at::ScalarType type, at::Device device) {
  RIESZ_CHECK(elements >= 0, "TeamBuffer: ", elements, " elements");
  const int position = position_in(team);
  impl_ = std::make_shared<Impl>();
  impl_->position = position;
  const at::TensorOptions options = at::TensorOptions().dtype(type).device(device);
  if (device.is_cpu())
    impl_->windows =
        TeamWindows::make(team, position, elements * static_cast<std::int64_t>(at::elementSize(type)));
  impl_->channel = channel_of(team, position, impl_->windows);
  impl_->team = std::make_shared<const std::vector<int>>(std::move(team));
  if (impl_->windows)
    impl_->local = at::from_blob(
        impl_->windows->data(position), {elements}, [kept = impl_->windows](void*) {}, options);
  else
    impl_->local = at::zeros({elements}, options);
}

TeamBuffer::~TeamBuffer() = default;
TeamBuffer::TeamBuffer(TeamBuffer&&) noexcept = default;
TeamBuffer& TeamBuffer::operator=(TeamBuffer&&) noexcept = default;

const at::Tensor& TeamBuffer::local() const { return impl_->local; }
const std::vector<int>& TeamBuffer::team() const { return *impl_->team; }
int TeamBuffer::position() const { return impl_->position; }

std::shared_ptr<TeamCollective> TeamBuffer::all_reduce(const Operation& operation,
                                                       const PieceOffsets& pieces) {
  TeamCollectiveSpec task = task_of(TeamCall::Kind::all_reduce, *impl_, operation, pieces);
  check_fits(task, pieces.back());
  return begin(std::move(task), {}, false,
               [](TeamCollectiveSpec spec) { return make_all_reduce(std::move(spec)); });
}

std::shared_ptr<TeamCollective> TeamBuffer::reduce_scatter(const Operation& operation,
                                                           const PieceOffsets& pieces, const at::Tensor& out,
                                                           bool add) {
  TeamCollectiveSpec task = task_of(TeamCall::Kind::reduce_scatter, *impl_, operation, pieces);
  check_fits(task, pieces.back());
  check_out(task, out);
  const std::int64_t size = task.size(task.position);
  const auto* mine = static_cast<const std::byte*>(task.local.const_data_ptr()) +
                     task.begin(task.position) * static_cast<std::int64_t>(task.local.element_size());
  RIESZ_CHECK(out.numel() == size, operation.text, ": out has ", out.numel(),
              " elements where this worker's piece has ", size);
  RIESZ_CHECK(out.const_data_ptr() == mine || apart(out, task.local), operation.text,
              ": out lies in the buffer, but not where this worker's piece does");
  return begin(std::move(task), out, add,
               [&](TeamCollectiveSpec spec) { return make_reduce_scatter(std::move(spec), out, add); });
}

std::shared_ptr<TeamCollective> TeamBuffer::all_gather(const Operation& operation, const PieceOffsets& pieces,
                                                       Contents holds, const at::Tensor& out,
                                                       std::int64_t from) {
  const bool whole = holds == Contents::whole;
  RIESZ_CHECK(from >= 0, operation.text, ": pieces from element ", from, " of a buffer");
  TeamCollectiveSpec task = task_of(TeamCall::Kind::all_gather, *impl_, operation, pieces, whole ? -1 : from);
  check_fits(task, whole ? pieces.back() : from + task.size(task.position));
  check_out(task, out);
  RIESZ_CHECK(out.numel() >= pieces.back(), operation.text, ": out has ", out.numel(),
              " elements where the pieces have ", pieces.back());
  RIESZ_CHECK(apart(out, task.local) || (whole && out.data_ptr() == task.local.data_ptr()), operation.text,
              ": out lies in the buffer; it may only be the buffer itself, where that holds the whole");
  return begin(std::move(task), out, false,
               [&](TeamCollectiveSpec spec) { return make_all_gather(std::move(spec), out); });
}

}  // namespace riesz
