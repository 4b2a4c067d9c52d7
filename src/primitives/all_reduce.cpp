// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_reduce.h"

#include <ATen/ops/empty.h>
#include <c10/util/accumulate.h>

#include <utility>

#include "riesz/comm/communicator.h"
#include "riesz/comm/ordered_sum.h"
#include "riesz/comm/resolved.h"
#include "riesz/comm/transcript.h"
#include "riesz/primitives/copy.h"
#include "riesz/primitives/ends.h"
#include "riesz/primitives/flight.h"

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

using Combine = std::function<void(const std::vector<at::Tensor>& terms, const at::Tensor& y)>;

/// A reduction on a fibre under way: every worker combines its chunk of all, then all chunks go to all.
class FibreReduction final : public Flight {
 public:
  FibreReduction(const Operation& operation, const Partition& partition, const std::vector<int>& axes,
                 std::int64_t elements, Combine combine)
      : operation_(operation),
        chunks_(chunks_of(partition, axes, partition.rank(), elements)),
        combine_(std::move(combine)) {
    std::vector<int> mine;  // who takes part in combining this worker's chunk
    std::vector<int> theirs;
    for (int i = 0; i < chunks_.split.workers(); ++i) {
      peers_.push_back(partition.world_rank(chunks_.ranks[static_cast<std::size_t>(i)]));
      if (i == chunks_.mine) continue;
      if (size(chunks_.mine) > 0) mine.push_back(peers_.back());
      if (size(i) > 0) theirs.push_back(peers_.back());
    }
    Transcript::note(operation.label);
    scatter_ = Communicator::world().take_tags(theirs, mine);
    gather_ = Communicator::world().take_tags(mine, theirs);
  }

  void launch(const at::Tensor& x) override {
    shape_ = x.sizes().vec();
    const at::Tensor flat = x.contiguous().view({-1});
    y_ = at::empty(flat.sizes(), flat.options());
    std::vector<Parcel> sends;
    std::vector<Parcel> receives;
    for (int i = 0; i < chunks_.split.workers(); ++i) {
      if (i == chunks_.mine) {
        terms_.push_back(chunk(flat, chunks_.split[i]));
        continue;
      }
      terms_.push_back(at::empty({size(chunks_.mine)}, flat.options()));
      if (size(i) > 0) sends.push_back({peer(i), range(flat, i)});
      if (size(chunks_.mine) > 0) receives.push_back({peer(i), terms_.back()});
    }
    exchange_ = Communicator::world().post(operation_, scatter_, std::move(sends), std::move(receives));
  }

  bool done() override {
    if (!exchange_->done()) return false;
    if (terms_.empty()) return true;
    const at::Tensor mine = chunk(y_, chunks_.split[chunks_.mine]);
    combine_(terms_, mine);
    terms_.clear();
    std::vector<Parcel> sends;
    std::vector<Parcel> receives;
    for (int i = 0; i < chunks_.split.workers(); ++i) {
      if (i == chunks_.mine) continue;
      if (mine.numel() > 0) sends.push_back({peer(i), range(y_, chunks_.mine)});
      if (size(i) > 0) receives.push_back({peer(i), range(y_, i)});
    }
    exchange_ = Communicator::world().post(operation_, gather_, std::move(sends), std::move(receives));
    return exchange_->done();
  }

  at::Tensor result() override { return y_.view(shape_); }
  std::vector<int> waits_for() const override { return exchange_->unfinished(); }

 private:
  std::int64_t size(int i) const { return chunks_.split[i].size(); }
  Range range(const at::Tensor& flat, int i) const { return {flat, chunks_.split[i].begin, size(i)}; }
  int peer(int i) const { return peers_[static_cast<std::size_t>(i)]; }

  const Operation& operation_;
  Chunks chunks_;
  Combine combine_;
  std::vector<int> peers_;  // world ranks, by position on the fibre
  Tags scatter_;
  Tags gather_;
  std::vector<std::int64_t> shape_;
  at::Tensor y_;
  std::vector<at::Tensor> terms_;  // until they are combined
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace

at::Tensor reduce_fibre(const Operation& operation, const Partition& partition, const std::vector<int>& axes,
                        const at::Tensor& x, const Combine& combine) {
  FibreReduction reduction(operation, partition, axes, x.numel(), combine);
  return fly(reduction, operation.text, resolved(x));
}

namespace primitives {
namespace {

class AllReduce final : public Primitive {
 public:
  AllReduce(const Space& X, const Space& Y, const std::vector<int>& axes)
      : Primitive("AllReduce", X, Y, axes) {}

  at::Tensor apply(const at::Tensor& x) const override {
    return reduce_fibre(operation(), domain().partition(), axes(), x, ordered_sum_to);
  }

  std::unique_ptr<Flight> prepare() const override {
    return std::make_unique<FibreReduction>(operation(), domain().partition(), axes(),
                                            c10::multiply_integers(domain().local_shape()), ordered_sum_to);
  }

  Step adjoint() const override {
    const Space X = dual(range());
    const Space Y = dual(domain());
    return X.placement(axes().front()) == Placement::Replicated ? copy(X, Y, axes())
                                                                : all_reduce(X, Y, axes());
  }

  Traffic traffic(int rank) const override {
    const Chunks chunks = chunks_of(domain().partition(), axes(), rank, volume(domain().boxes(rank)));
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

  bool moves() const override { return domain().partition().fibre(0, axes()).size() > 1; }
};

}  // namespace

Step all_reduce(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("AllReduce", X, Y, axes, {Placement::Partial}, {Placement::Replicated, Placement::Copied});
  return std::make_shared<AllReduce>(X, Y, axes);
}

}  // namespace primitives
}  // namespace riesz
