// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/team/host_tensor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <optional>

#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/shared/memory.h"
#include "riesz/comm/struct_bytes.h"

namespace riesz {
namespace {

/// Made by the first holder, and opened by the others.
std::shared_ptr<SharedMemory> memory_of(const std::vector<int>& holders, std::size_t bytes) {
  const int me = Runtime::rank(), maker = holders.front();
  const Operation operation("HostTensor", concat("HostTensor of ", bytes, " bytes"));
  std::vector<int> peers = holders;
  std::erase(peers, me);
  std::shared_ptr<SharedMemory> memory;
  std::optional<Error> refused;
  try {
    if (me == maker) memory = SharedMemory::make(bytes);
  } catch (const Error& error) {
    refused = error;  // thrown when the others know that there is nothing to open
  }
  Communicator& world = Communicator::world();
  const auto addresses =
      world.host_allgather(operation, peers, bytes_of(memory ? memory->address() : SharedMemory::Address{}));
  if (refused) throw Error(*refused);
  if (me != maker) {
    const auto address = struct_of<SharedMemory::Address>(addresses.front());
    RIESZ_CHECK(address.descriptor >= 0, operation.text, ": rank ", maker, " cannot make it for this host");
    memory = SharedMemory::open(address);
  }
  bool opened = memory != nullptr;
  for (const at::Tensor& answer : world.host_allgather(operation, peers, at::full({1}, opened, at::kBool)))
    opened = opened && answer.item<bool>();
  RIESZ_CHECK(opened, operation.text,
              ": the workers of this host cannot open each other's memory; with RIESZ_TRANSPORT=mpi none is "
              "shared");
  return memory;
}

}  // namespace

std::vector<int> ranks_sharing_memory(const std::vector<int>& team) {
  std::vector<int> holders;
  for (const int rank : team) {
    if (rank == Runtime::rank() || Communicator::world().shares_memory_with(rank)) holders.push_back(rank);
  }
  return holders;
}

HostTensor::HostTensor(const std::vector<int>& team, at::IntArrayRef shape, at::ScalarType type)
    : holders_(ranks_sharing_memory(team)) {
  RIESZ_CHECK(std::find(team.begin(), team.end(), Runtime::rank()) != team.end(),
              "HostTensor: this worker is not in the team");
  if (holders_.size() == 1) {
    local_ = at::empty(shape, type);
    return;
  }
  const auto elements = static_cast<std::size_t>(c10::multiply_integers(shape));
  memory_ = memory_of(holders_, elements * c10::elementSize(type));
  local_ = at::from_blob(
      memory_->data(), shape, [kept = memory_](void* /*data*/) {}, type);
}

void HostTensor::make_read_only() {
  if (memory_ != nullptr) memory_->make_read_only();
}

}  // namespace riesz
