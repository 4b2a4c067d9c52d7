// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/mpi_transport.h"

#include <algorithm>
#include <cstddef>

#include "riesz/comm/error.h"
#include "riesz/comm/mpi_check.h"

namespace riesz {
namespace {

constexpr int kTag = 1;

struct Piece {
  int peer;
  std::byte* data;
  int bytes;
};

std::vector<Piece> pieces_of(const std::vector<Parcel>& parcels, std::int64_t largest) {
  std::vector<Piece> pieces;
  for (const Parcel& parcel : parcels) {
    auto* data = static_cast<std::byte*>(parcel.data.data_ptr());
    const auto bytes = static_cast<std::int64_t>(parcel.data.nbytes());
    for (std::int64_t at = 0; at < bytes; at += largest) {
      pieces.push_back({parcel.peer, data + at, static_cast<int>(std::min(largest, bytes - at))});
    }
  }
  return pieces;
}

void check_sizes(const std::vector<Piece>& receives, const std::vector<MPI_Status>& statuses) {
  for (std::size_t i = 0; i < receives.size(); ++i) {
    int bytes = 0;
    RIESZ_MPI(MPI_Get_count(&statuses[i], MPI_BYTE, &bytes));
    RIESZ_CHECK(bytes == receives[i].bytes, "a message from rank ", receives[i].peer, " has ", bytes,
                " bytes where ", receives[i].bytes, " are expected: the workers' programs differ; every worker must "
                "call the same operators in the same order");
  }
}

}  // namespace

struct MpiTransport::Impl {
  MPI_Comm communicator = MPI_COMM_NULL;
  std::int64_t largest_message;
};

MpiTransport::MpiTransport(std::int64_t largest_message) : impl_(std::make_unique<Impl>()) {
  RIESZ_CHECK(largest_message > 0 && largest_message <= (std::int64_t{1} << 30),
              "MpiTransport: the largest message has ", largest_message, " bytes; it must be from 1 to 2^30");
  impl_->largest_message = largest_message;
  RIESZ_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &impl_->communicator));
  RIESZ_MPI(MPI_Comm_set_errhandler(impl_->communicator, MPI_ERRORS_RETURN));
}

MpiTransport::~MpiTransport() { MPI_Comm_free(&impl_->communicator); }

void MpiTransport::exchange(const std::vector<Parcel>& sends, const std::vector<Parcel>& receives) {
  const std::vector<Piece> in = pieces_of(receives, impl_->largest_message);
  const std::vector<Piece> out = pieces_of(sends, impl_->largest_message);
  std::vector<MPI_Request> requests(in.size() + out.size());
  std::vector<MPI_Status> statuses(requests.size());
  MPI_Request* request = requests.data();
  for (const Piece& piece : in) {
    RIESZ_MPI(MPI_Irecv(piece.data, piece.bytes, MPI_BYTE, piece.peer, kTag, impl_->communicator, request++));
  }
  for (const Piece& piece : out) {
    RIESZ_MPI(MPI_Isend(piece.data, piece.bytes, MPI_BYTE, piece.peer, kTag, impl_->communicator, request++));
  }
  const int code = MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (const MPI_Status& status : statuses) check_mpi(status.MPI_ERROR, "a message between workers");
  }
  check_mpi(code, "MPI_Waitall");
  check_sizes(in, statuses);
}

}  // namespace riesz
