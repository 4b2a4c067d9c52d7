// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/pairing.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sum.h>

#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"

namespace riesz {

std::vector<at::Tensor> collect(const std::string& operation, const Partition& partition, const at::Tensor& mine) {
  if (!partition.active()) return {};
  std::vector<at::Tensor> all(static_cast<std::size_t>(partition.size()));
  std::vector<Parcel> sends;
  std::vector<Parcel> receives;
  const at::Tensor sent = mine.detach().contiguous();
  for (int rank = 0; rank < partition.size(); ++rank) {
    at::Tensor& theirs = all[static_cast<std::size_t>(rank)];
    theirs = rank == partition.rank() ? sent : at::empty_like(sent);
    if (rank == partition.rank()) continue;
    sends.push_back({partition.world_rank(rank), sent});
    receives.push_back({partition.world_rank(rank), theirs});
  }
  Communicator::world().exchange(operation, sends, receives);
  return all;
}

double pairing(const Vector& x, const Vector& y) {
  RIESZ_CHECK(y.space() == dual(x.space()), "pairing of x in X and y in X* needs dual spaces, not\n  ",
              to_string(x.space()), "\n  ", to_string(y.space()));
  RIESZ_CHECK(!x.local().is_complex() && !y.local().is_complex(), "pairing: real vectors only");
  const Partition& P = x.space().partition();
  if (!P.active()) return 0;
  double mine = 0;
  if (x.space().leader(P.rank(), {Placement::Replicated}) == P.rank()) {
    const at::Tensor products = at::mul(x.local().detach().to(at::kDouble), y.local().detach().to(at::kDouble));
    mine = at::sum(products).item<double>();
  }
  double sum = 0;
  for (const at::Tensor& term : collect("pairing", P, at::scalar_tensor(mine, at::kDouble))) sum += term.item<double>();
  return sum;
}

}  // namespace riesz
