// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/comm/device_transport.h"
#include "riesz/comm/nccl/functions.h"

namespace riesz {

/// Settings of the transport among devices.
struct NcclSettings {
  int max_communicators = 64;  ///< that a process ever makes; rounds of further teams are staged
  bool compare = false;        ///< compares descriptions also where `consistency_checks` is false
  bool collectives = false;    ///< the library's own collectives, where they fit; else all are rounds

  /// RIESZ_NCCL_COMMUNICATORS is the number, RIESZ_NCCL_COLLECTIVES=library asks for the collectives.
  /// @throws Error on other values.
  static NcclSettings of_environment();
};

/// The transport by NCCL. A round is one group of sends and receives. All rounds of a process run in the
/// transport's own stream, in the order of their posts. A round begins after what the current stream has
/// queued; the current stream then waits for it. A team whose ranks share a device, or with a member at its
/// limit, is staged. With `collectives` it has all-reduce, all-gather and reduce-scatter, for numbers that
/// NCCL adds: all but Booleans. After a call that fails no round is posted any more. How it works:
/// docs/internals/transports.md.
class NcclTransport final : public DeviceTransport {
 public:
  /// Collective over the job; each rank gives its own device. @throws Error, on all ranks, if their devices
  /// are of several types.
  NcclTransport(const nccl::Functions& functions, at::Device device, const NcclSettings& settings);
  ~NcclTransport() override;
  /// Is there one of these functions and this device in the process?
  static bool is_made(const nccl::Functions& functions, at::Device device);
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;

  bool carries(const CallTeam& team, const std::string& operation) override;
  void post(const CallTeam& team, const std::vector<Message>& sends,
            const std::vector<Message>& receives) override;
  bool has(LibraryCollective collective, const CallTeam& team, at::ScalarType type) const override;
  void post(const CallTeam& team, LibraryCollective collective, const TensorSpan& from, const TensorSpan& to,
            const std::string& operation) override;
  c10::Stream stream() const override;
  at::DeviceType type() const override;
  bool compares() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
