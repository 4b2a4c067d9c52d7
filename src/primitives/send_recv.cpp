// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/send_recv.h"

#include "riesz/comm/error.h"
#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/lift.h"

namespace riesz::primitives {
namespace {

class SendRecv final : public BoxExchange {
 public:
  SendRecv(const Space& X, const Space& Y) : BoxExchange("SendRecv", X, Y, {}, Combine::place) {}

  Step adjoint() const override { return std::make_shared<SendRecv>(dual(range()), dual(domain())); }

 protected:
  std::vector<int> senders(int rank) const override {
    return {project(domain().partition(), range().partition(), rank)};
  }
  std::vector<int> receivers(int rank) const override {
    return {project(range().partition(), domain().partition(), rank)};
  }
};

}  // namespace

Step send_recv(const Space& X, const Partition& Q) {
  const Partition& P = X.partition();
  RIESZ_CHECK(fits_into(P, Q) && fits_into(Q, P),
              "SendRecv leads to the same grid on other workers, not from ", to_string(P), " to ",
              to_string(Q));
  return std::make_shared<SendRecv>(X, lift(X, Q, Placement::Copied));
}

}  // namespace riesz::primitives
