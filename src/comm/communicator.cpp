// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/communicator.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"

namespace riesz {
namespace {

std::unique_ptr<Communicator>& world_communicator() {
  static std::unique_ptr<Communicator> communicator;
  return communicator;
}

bool in_host_memory(const std::vector<Parcel>& parcels) {
  for (const Parcel& parcel : parcels) {
    if (!parcel.data.is_cpu()) return false;
  }
  return true;
}

std::vector<Parcel> non_empty(const std::vector<Parcel>& parcels) {
  std::vector<Parcel> kept;
  kept.reserve(parcels.size());
  for (const Parcel& parcel : parcels) {
    RIESZ_CHECK(parcel.data.is_contiguous(), "a parcel for rank ", parcel.peer, " is not contiguous");
    if (parcel.data.numel() > 0) kept.push_back(parcel);
  }
  return kept;
}

void exchange_staged(Transport& transport, std::vector<Parcel> sends, const std::vector<Parcel>& receives) {
  for (Parcel& parcel : sends) parcel.data = parcel.data.cpu();
  std::vector<Parcel> staged = receives;
  for (Parcel& parcel : staged) parcel.data = at::empty(parcel.data.sizes(), parcel.data.options().device(at::kCPU));
  transport.exchange(sends, staged);
  for (std::size_t i = 0; i < receives.size(); ++i) receives[i].data.copy_(staged[i].data);
}

}  // namespace

Communicator& Communicator::world() {
  RIESZ_CHECK(world_communicator() != nullptr,
              "Communicator::world: no Runtime is alive; make one in main, before any partition or operator");
  return *world_communicator();
}

std::unique_ptr<Communicator> set_world_communicator(std::unique_ptr<Communicator> communicator) {
  return std::exchange(world_communicator(), std::move(communicator));
}

Communicator::Communicator(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

void Communicator::exchange(const std::string& operation, const std::vector<Parcel>& sends,
                            const std::vector<Parcel>& receives) {
  const std::vector<Parcel> out = non_empty(sends);
  const std::vector<Parcel> in = non_empty(receives);
  if (out.empty() && in.empty()) return;
  Traffic traffic;
  for (const Parcel& parcel : out) {
    traffic += {parcel.data.numel(), static_cast<std::int64_t>(parcel.data.nbytes()), 1};
  }
  Counters::instance().add(operation, traffic);
  if (in_host_memory(out) && in_host_memory(in)) {
    transport_->exchange(out, in);
  } else {
    exchange_staged(*transport_, out, in);
  }
}

}  // namespace riesz
