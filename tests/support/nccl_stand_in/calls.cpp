// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// How the stand-in does a group's calls: as work on a stream, in messages between processes.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/testing/nccl_stand_in/state.h"
#include "riesz/testing/pretend_device/device_memory.h"

namespace riesz::testing::stand_in {
namespace {

at::ScalarType scalar_type(nccl::Type type) {
  switch (type) {
    case nccl::Type::int8:
      return at::kChar;
    case nccl::Type::uint8:
      return at::kByte;
    case nccl::Type::int32:
    case nccl::Type::uint32:
      return at::kInt;
    case nccl::Type::int64:
    case nccl::Type::uint64:
      return at::kLong;
    case nccl::Type::float16:
      return at::kHalf;
    case nccl::Type::float32:
      return at::kFloat;
    case nccl::Type::float64:
      return at::kDouble;
    case nccl::Type::bfloat16:
      return at::kBFloat16;
  }
  return at::kByte;
}

bool is(const Call& call, std::string_view function) { return call.function == function; }

/// The host's tensor of device memory, as bytes.
at::Tensor bytes_at(const void* there, std::size_t offset, std::size_t bytes) {
  return at::from_blob(pretend::on_host(there) + offset, {static_cast<std::int64_t>(bytes)}, at::kByte);
}

/// Of a message: the same at both ends, where the calls fit.
std::shared_ptr<const Label> label_of(const Call& call) {
  const bool pair = is(call, "ncclSend") || is(call, "ncclRecv");
  return std::make_shared<const Label>(concat(pair ? "ncclSend to ncclRecv" : call.function, " of ",
                                              call.count, " elements of type ", static_cast<int>(call.type)),
                                       DigestBuilder());
}

/// A message on its way. A send is done once the receiver has acknowledged it.
struct Flight {
  bool out;
  int peer;  // world rank
  MatchKey key, acknowledged;
  at::Tensor bytes;
  std::shared_ptr<const Label> label;
  std::string text = {};  // of the call
  std::unique_ptr<Requests> data = {}, acknowledgement = {};

  void post(Transport& transport) {
    if (out) {
      data = transport.post({{peer, key, bytes, label}}, {});
      acknowledgement = transport.post({}, {{peer, acknowledged, at::empty({1}, at::kByte)}});
    } else {
      data = transport.post({}, {{peer, key, bytes, label}});
    }
  }

  bool done(Transport& transport) {
    if (data && !data->done()) return false;
    data = nullptr;
    if (!acknowledgement && !out)
      acknowledgement = transport.post({{peer, acknowledged, at::empty({1}, at::kByte).zero_()}}, {});
    return acknowledgement->done();
  }
};

/// What a group does when its turn comes.
struct Work {
  nccl::Comm comm;
  NcclStandIn::State::Room& room;
  std::vector<Flight> flights;
  std::vector<std::function<void()>> before, after;  // on the host's memory
  std::string text;
};

/// A message to or from a rank of the communicator, the next of its pair.
Flight flight(const Call& call, bool out, int rank, at::Tensor bytes) {
  nccl::OpaqueComm& comm = *call.comm;
  const auto at = static_cast<std::size_t>(rank);
  const int number = out ? comm.sent[at]++ : comm.received[at]++;
  return {out,
          comm.world[at],
          {comm.channel, number},
          {comm.channel + 1, number},
          std::move(bytes),
          label_of(call),
          text_of(call)};
}

void add_pair(Work& work, const Call& call) {
  const bool out = is(call, "ncclSend");
  const std::size_t bytes = call.count * bytes_of(call.type);
  work.flights.push_back(flight(call, out, call.peer, bytes_at(out ? call.from : call.to, 0, bytes)));
}

/// A collective: each rank sends a part to each other, and those that come are added or placed.
void add_collective(Work& work, const Call& call) {
  const nccl::OpaqueComm& comm = *call.comm;
  const bool gathers = is(call, "ncclAllGather"), scatters = is(call, "ncclReduceScatter");
  const std::size_t bytes = call.count * bytes_of(call.type);
  auto parts = std::make_shared<std::vector<at::Tensor>>();
  for (int rank = 0; rank < comm.ranks; ++rank) {
    parts->push_back(at::empty({static_cast<std::int64_t>(bytes)}, at::kByte));
    const auto at = static_cast<std::size_t>(scatters ? rank : 0) * bytes;
    if (rank == comm.rank) {
      work.before.push_back(
          [part = parts->back(), mine = bytes_at(call.from, at, bytes)] { part.copy_(mine); });
    } else {
      work.flights.push_back(flight(call, true, rank, bytes_at(call.from, at, bytes)));
      work.flights.push_back(flight(call, false, rank, parts->back()));
    }
  }
  work.after.push_back([parts, gathers, to = call.to, bytes, type = scalar_type(call.type)] {
    for (std::size_t i = 0; gathers && i < parts->size(); ++i)
      bytes_at(to, i * bytes, bytes).copy_((*parts)[i]);
    if (gathers) return;
    at::Tensor sum = parts->front().view(type);
    for (std::size_t i = 1; i < parts->size(); ++i) sum.add_((*parts)[i].view(type));
    bytes_at(to, 0, bytes).copy_(sum.view(at::kByte));
  });
}

/// What else is issued on this device, and waits for the oldest group.
std::string behind(const NcclStandIn::State::Room& room) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  const std::lock_guard lock(state.mutex);
  std::string all;
  for (std::size_t i = 1; i < room.waiting.size(); ++i)
    all += concat(all.empty() ? "; behind it: " : "; ", room.waiting[i]);
  return all;
}

bool of_single_bytes(const std::vector<Call>& calls) {
  return std::all_of(calls.begin(), calls.end(),
                     [](const Call& call) { return call.count * bytes_of(call.type) <= 1; });
}

/// Runs in the stream's thread.
void perform(Work& work) {
  const at::NoGradGuard no_gradient;
  NcclStandIn::State& state = NcclStandIn::State::now();
  Transport& transport = state.transport;
  nccl::OpaqueComm& comm = *work.comm;
  const auto stops = [&] { return stopped(comm) || state.abandoned; };
  if (stops() || state.hangs) return;
  for (const auto& f : work.before) f();
  for (Flight& each : work.flights) each.post(transport);
  const auto all = [&] {
    bool done = true;
    for (Flight& each : work.flights) done = each.done(transport) && done;
    return done;
  };
  try {
    if (comes(all, stops)) {
      for (const auto& f : work.after) f();
      return;
    }
  } catch (const Error& error) {
    if (state.abandoned) return;
    return failed(&comm, concat(work.text, ": ", error.what()));
  }
  if (stops()) return;
  state.hangs = true;
  std::string waits;
  for (Flight& each : work.flights) {
    const bool repeats = waits.ends_with(each.text);
    if (!each.done(transport) && !repeats) waits += concat(waits.empty() ? "" : "; ", each.text);
  }
  failed(&comm,
         concat("NCCL would hang: ", waits, " waits, and the other end does not come", behind(work.room)));
}

}  // namespace

std::size_t bytes_of(nccl::Type type) { return at::elementSize(scalar_type(type)); }

std::string text_of(const Call& call) {
  const bool out = is(call, "ncclSend"), in = is(call, "ncclRecv");
  std::string peer = out ? " to rank " : in ? " from rank " : "";
  if (out || in) peer += std::to_string(call.peer);
  std::string ranks;
  for (const int rank : call.comm->world) ranks += concat(ranks.empty() ? "" : ", ", rank);
  return concat(call.function, " of ", call.count, " elements", peer, " in the communicator of ranks ",
                ranks);
}

Result issue(const std::vector<Call>& calls) {
  // A device has room for one kernel of NCCL's, for more are not promised: so communicators too are called
  // in one order on all ranks. Beside it there is room for one that moves single bytes.
  NcclStandIn::State& state = NcclStandIn::State::now();
  const bool connects = of_single_bytes(calls);
  NcclStandIn::State::Room& room = connects ? state.room_for_bytes : state.room;
  const auto work = std::make_shared<Work>(calls.front().comm, room);
  for (const Call& call : calls) {
    if (call.stream != calls.front().stream)
      return refused(Result::invalid_usage,
                     "ncclGroupEnd: a communicator's calls of one group are on several streams");
    if (!connects) count(call.function);
    work->text += concat(work->text.empty() ? "" : ", ", text_of(call));
    if (is(call, "ncclSend") || is(call, "ncclRecv"))
      add_pair(*work, call);
    else
      add_collective(*work, call);
  }
  pretend::Stream* const stream = calls.front().stream;
  const std::lock_guard lock(state.issuing);
  const auto before = std::pair(room.last_stream, room.last_number);
  {
    const std::lock_guard texts(state.mutex);
    room.waiting.push_back(work->text);
  }
  room.last_stream = stream;
  room.last_number = stream->add([work, before, stream, &state] {
    if (before.first != nullptr && before.first != stream) before.first->wait(before.second);
    perform(*work);
    const std::lock_guard texts(state.mutex);
    work->room.waiting.pop_front();
  });
  return Result::success;
}

}  // namespace riesz::testing::stand_in
