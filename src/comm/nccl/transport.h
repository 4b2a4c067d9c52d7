// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/comm/device_transport.h"
#include "riesz/comm/nccl/functions.h"

namespace riesz {

/// Settings of the transport among devices.
struct NcclSettings {
  int most_communicators = 64;  ///< of a process; rounds of further teams go through host memory
  bool compare = false;         ///< compares descriptions also where `consistency_checks` is false

  /// RIESZ_NCCL_COMMUNICATORS is the number. @throws Error on other values.
  static NcclSettings of_environment();
};

/// The NCCL transport. A round is one group of sends and receives in a stream of its own, which waits for the
/// current stream and is waited for by it. All rounds of a process are in that one stream, so they run in the
/// order in which they are posted. A team's communicator is made when the team is first used. A team in which
/// two ranks share a device has none, nor has one for which some member has no room: their rounds go through
/// host memory. Past the deadline the job ends, with a report that names the members that have not made their
/// calls.
class NcclTransport final : public DeviceTransport {
 public:
  /// Collective over the job; each rank gives its own device. @throws Error, on all ranks, if their devices
  /// are of several types.
  NcclTransport(const nccl::Functions& functions, at::Device device, const NcclSettings& settings);
  ~NcclTransport() override;
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;

  bool carries(const Team& team, const std::string& operation) override;
  void post(const Team& team, const std::vector<Message>& sends,
            const std::vector<Message>& receives) override;
  at::DeviceType type() const override;
  bool compares() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
