// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_reduce.h"

#include <ATen/ops/empty.h>

#include "riesz/comm/communicator.h"
#include "riesz/primitives/copy.h"
#include "riesz/primitives/ends.h"
#include "riesz/primitives/ordered_sum.h"

namespace riesz {
namespace {

struct Chunks {
  std::vector<int> ranks;
  Split split;
  int mine = 0;  // position on the fibre
};

Chunks chunks_of(const Partition& partition, const std::vector<int>& axes, int rank, std::int64_t elements) {
  Chunks chunks{partition.fibre(rank, axes), Split::sizes({})};
  chunks.split = Split::balanced(elements, static_cast<int>(chunks.ranks.size()));
  while (chunks.ranks[static_cast<std::size_t>(chunks.mine)] != rank) ++chunks.mine;
  return chunks;
}

at::Tensor chunk(const at::Tensor& flat, const Interval& interval) {
  return flat.narrow(0, interval.begin, interval.size());
}

at::Tensor combine_mine(const std::string& operation, const Partition& partition, const Chunks& chunks,
                        const at::Tensor& flat,
                        const std::function<at::Tensor(const std::vector<at::Tensor>&)>& combine) {
  std::vector<Parcel> sends;
  std::vector<Parcel> receives;
  std::vector<at::Tensor> terms;
  const Interval& mine = chunks.split[chunks.mine];
  for (int i = 0; i < chunks.split.workers(); ++i) {
    const int peer = partition.world_rank(chunks.ranks[static_cast<std::size_t>(i)]);
    if (i == chunks.mine) {
      terms.push_back(chunk(flat, mine));
      continue;
    }
    sends.push_back({peer, chunk(flat, chunks.split[i])});
    terms.push_back(at::empty({mine.size()}, flat.options()));
    receives.push_back({peer, terms.back()});
  }
  Communicator::world().exchange(operation, sends, receives);
  return combine(terms);
}

}  // namespace

at::Tensor reduce_fibre(const std::string& operation, const Partition& partition, const std::vector<int>& axes,
                        const at::Tensor& x,
                        const std::function<at::Tensor(const std::vector<at::Tensor>&)>& combine) {
  const at::Tensor flat = x.contiguous().view({-1});
  const Chunks chunks = chunks_of(partition, axes, partition.rank(), flat.numel());
  const at::Tensor combined = combine_mine(operation, partition, chunks, flat, combine);
  at::Tensor y = at::empty(flat.sizes(), flat.options());
  chunk(y, chunks.split[chunks.mine]).copy_(combined);
  std::vector<Parcel> sends;
  std::vector<Parcel> receives;
  for (int i = 0; i < chunks.split.workers(); ++i) {
    if (i == chunks.mine) continue;
    const int peer = partition.world_rank(chunks.ranks[static_cast<std::size_t>(i)]);
    sends.push_back({peer, chunk(y, chunks.split[chunks.mine])});
    receives.push_back({peer, chunk(y, chunks.split[i])});
  }
  Communicator::world().exchange(operation, sends, receives);
  return y.view(x.sizes());
}

namespace primitives {
namespace {

class AllReduce final : public Primitive {
 public:
  AllReduce(const Space& X, const Space& Y, const std::vector<int>& axes) : Primitive("AllReduce", X, Y, axes) {}

  at::Tensor apply(const at::Tensor& x) const override {
    return reduce_fibre(name(), domain().partition(), axes(), x, ordered_sum);
  }

  Step adjoint() const override {
    const Space X = dual(range());
    const Space Y = dual(domain());
    return X.placement(axes().front()) == Placement::Replicated ? copy(X, Y, axes()) : all_reduce(X, Y, axes());
  }

  Traffic traffic(int rank) const override {
    const Chunks chunks = chunks_of(domain().partition(), axes(), rank, volume(domain().box(rank)));
    Traffic traffic;
    for (int i = 0; i < chunks.split.workers(); ++i) {
      if (i == chunks.mine) continue;
      for (const int parcel : {i, chunks.mine}) {
        const std::int64_t elements = chunks.split[parcel].size();
        if (elements > 0) traffic += {elements, 0, 1};
      }
    }
    return traffic;
  }

  bool communicates() const override { return domain().partition().fibre(0, axes()).size() > 1; }
};

}  // namespace

Step all_reduce(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("AllReduce", X, Y, axes, {Placement::Partial}, {Placement::Replicated, Placement::Copied});
  return std::make_shared<AllReduce>(X, Y, axes);
}

}  // namespace primitives
}  // namespace riesz
