// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/pairing.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sum.h>

#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/resolved.h"
#include "riesz/partition/digest.h"
#include "riesz/partition/participation.h"

namespace riesz {

std::vector<at::Tensor> collect(const Operation& operation, const Partition& partition,
                                const at::Tensor& mine) {
  if (!partition.active()) return {};
  check_real(operation.text, partition);
  std::vector<at::Tensor> all(static_cast<std::size_t>(partition.size()));
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  const at::Tensor sent = resolved(mine.detach()).contiguous();
  for (int rank = 0; rank < partition.size(); ++rank) {
    at::Tensor& theirs = all[static_cast<std::size_t>(rank)];
    theirs = rank == partition.rank() ? sent : at::empty_like(sent);
    if (rank == partition.rank()) continue;
    sends.push_back({partition.world_rank(rank), sent});
    receives.push_back({partition.world_rank(rank), theirs});
  }
  count_participation(operation);
  Communicator::world().exchange(operation, sends, receives);
  return all;
}

namespace {

/// Workers that pair vectors of other spaces meet an Error, not each other's numbers.
Operation pairing_in(const Space& X) {
  DigestBuilder digest;
  digest.mix(X.partition().digest());
  mix(digest, X);
  return {"pairing", "pairing", " in " + to_string(X), digest};
}

/// Σ over the workers, in `type`; a Replicated axis counts once.
at::Tensor sum_of_products(const Vector& x, const Vector& y, at::ScalarType type) {
  RIESZ_CHECK(y.space() == dual(x.space()), "pairing of x in X and y in X* needs dual spaces, not\n  ",
              to_string(x.space()), "\n  ", to_string(y.space()));
  check_one_device("pairing", x, y);
  const Partition& P = x.space().partition();
  at::Tensor sum = at::scalar_tensor(0, type);
  if (!P.active()) return sum;
  at::Tensor mine = sum.clone();
  if (x.space().leader(P.rank(), {Placement::Replicated}) == P.rank()) {
    mine = at::sum(at::mul(x.local().detach().to(type).conj(), y.local().detach().to(type))).cpu();
  }
  for (const at::Tensor& term : collect(pairing_in(x.space()), P, mine)) sum.add_(term);
  return sum;
}

}  // namespace

double pairing(const Vector& x, const Vector& y) {
  RIESZ_CHECK(!x.local().is_complex() && !y.local().is_complex(),
              "pairing is of real vectors; use complex_pairing for complex ones");
  return sum_of_products(x, y, at::kDouble).item<double>();
}

std::complex<double> complex_pairing(const Vector& x, const Vector& y) {
  const auto sum = sum_of_products(x, y, at::kComplexDouble).item<c10::complex<double>>();
  return {sum.real(), sum.imag()};
}

}  // namespace riesz
