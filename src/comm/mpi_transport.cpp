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

constexpr const char* kDiffer =
    ": the workers' programs differ; every worker must call the same operators in the same order";

void finish_receive(const Piece& piece, MPI_Request& request) {
  MPI_Status status;
  const int code = MPI_Wait(&request, &status);
  int kind = MPI_SUCCESS;
  RIESZ_MPI(MPI_Error_class(code, &kind));
  RIESZ_CHECK(kind != MPI_ERR_TRUNCATE, "a message from rank ", piece.peer, " has more than the ", piece.bytes,
              " bytes that are expected", kDiffer);
  check_mpi(code, "MPI_Wait for a message");
  int bytes = 0;
  RIESZ_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
  RIESZ_CHECK(bytes == piece.bytes, "a message from rank ", piece.peer, " has ", bytes, " bytes where ", piece.bytes,
              " are expected", kDiffer);
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
  MPI_Request* request = requests.data();
  for (const Piece& piece : in) {
    RIESZ_MPI(MPI_Irecv(piece.data, piece.bytes, MPI_BYTE, piece.peer, kTag, impl_->communicator, request++));
  }
  for (const Piece& piece : out) {
    RIESZ_MPI(MPI_Isend(piece.data, piece.bytes, MPI_BYTE, piece.peer, kTag, impl_->communicator, request++));
  }
  // One after another: Open MPI 4.1's MPI_Waitall never returns if a message was too long for its receive.
  for (std::size_t i = 0; i < in.size(); ++i) finish_receive(in[i], requests[i]);
  for (std::size_t i = in.size(); i < requests.size(); ++i) RIESZ_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
}

}  // namespace riesz
