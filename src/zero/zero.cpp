// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/zero.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <atomic>
#include <sstream>

#include "riesz/comm/error.h"
#include "riesz/comm/table_text.h"
#include "riesz/optim/trained_alike.h"
#include "riesz/zero/zero_impl.h"

namespace riesz {
namespace {

/// While one is made: workers take their common memory one after the other, in one order.
class Making {
 public:
  Making() {
    RIESZ_CHECK(!under_way.exchange(true),
                "Zero: another is being made on another thread of this worker; make them one after the "
                "other, in one order on all workers");
  }
  ~Making() { under_way = false; }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;

 private:
  static inline std::atomic<bool> under_way = false;
};

/// Of the trained parameters, and where there is none of the frozen ones.
Partition shared_by(const std::vector<Parameter>& parameters) {
  RIESZ_CHECK(!parameters.empty(),
              "Zero: there are no parameters, which would say who its workers are; where a stage may have "
              "none, name them: Zero(parameters, workers), such as Zero(pipeline.parameters(c), "
              "pipeline.workers(c))");
  const std::vector<Parameter> trained = trained_among(parameters);
  return (trained.empty() ? parameters : trained).front().space().partition();
}

bool same_workers(const Partition& P, const Partition& Q) {
  bool same = P.size() == Q.size();
  for (int rank = 0; same && rank < P.size(); ++rank) same = Q.rank_in(P.world_rank(rank)) >= 0;
  return same;
}

Partition shared_by(const std::vector<Parameter>& parameters, const Partition& workers) {
  if (trained_among(parameters).empty()) return workers;
  const Partition P = shared_by(parameters);
  RIESZ_CHECK(same_workers(P, workers), "Zero: ", trained_among(parameters).front().name(), " lies on ",
              to_string(P), " of ranks ", list_text(P.workers()),
              ", which are other workers than those it is given, ", to_string(workers), " of ranks ",
              list_text(workers.workers()),
              "; where a model has several stages, StageZeros(model, options) gives each of them a Zero");
  return P;
}

}  // namespace

std::shared_ptr<Zero::Impl> Zero::Impl::make(const std::vector<Parameter>& given, const Partition& workers,
                                             const ZeroOptions& chosen) {
  const Making one;
  check_trained_alike("Zero", given);
  const auto made = std::make_shared<Impl>(trained_among(given), workers, chosen);
  made->take_over(made);
  return made;
}

Zero::Zero(const std::vector<Parameter>& parameters, const ZeroOptions& options)
    : impl_(Impl::make(parameters, shared_by(parameters), options)) {}

Zero::Zero(const std::vector<Parameter>& parameters, const Partition& workers, const ZeroOptions& options)
    : impl_(Impl::make(parameters, shared_by(parameters, workers), options)) {}

Zero::~Zero() = default;

void Zero::begin(std::int64_t i, std::int64_t of) {
  const at::NoGradGuard no_gradient;
  RIESZ_CHECK(i >= 0 && i < of, "Zero::begin: pass ", i, " of ", of, "; they are counted from 0");
  impl_->begin(i, of);
}

std::shared_ptr<Store> Zero::store() const { return impl_; }

void Zero::set_reducing(bool reducing) {
  Reductions& reductions = *impl_->reductions;
  RIESZ_CHECK(reducing || !reductions.every_micro_batch(), "Zero: in stage ", impl_->options.stage,
              " a worker has its own gradients only in part; unreduced they are kept in stages 0 and 1");
  RIESZ_CHECK(reducing == reductions.reducing() || reductions.state() == Reductions::State::idle,
              "Zero: whether gradients are reduced is said between steps, and one has begun; say it before a "
              "step's first use of the model, or after zero_gradients()");
  reductions.set_reducing(reducing);
}

Holdings Zero::holdings() const {
  Holdings all;
  std::int64_t most = 0, wide = 0;  // bytes: of a unit, of an element of a sum
  for (const Unit& unit : impl_->plan.units) {
    std::int64_t gathered = 0;
    for (const std::size_t b : unit.buckets) {
      const Bucket& bucket = *impl_->buckets[b];
      all.parameters += bucket.parameter_bytes();
      all.gradients += bucket.gradient_bytes();
      wide = std::max(wide, static_cast<std::int64_t>(c10::elementSize(bucket.sum_type())));
      all.masters += bucket.master_bytes();
      all.passing += bucket.padding_bytes();
      (bucket.kept() ? all.passing : gathered) += bucket.gathered_bytes();
    }
    most = std::max(most, gathered);
  }
  all.gathered = (1 + impl_->options.prefetch) * most;
  all.passing += impl_->passing_bytes + all.gathered;
  all.waiting = impl_->most_waiting().value_or(0) * wide;
  return all;
}

std::string Zero::describe() const {
  std::ostringstream out;
  for (const Unit& unit : impl_->plan.units) {
    out << unit.name;
    for (const std::size_t b : unit.buckets) {
      const Bucket& bucket = *impl_->buckets[b];
      out << "  " << bucket.elements() << " elements on " << bucket.team().size() << " workers";
      for (const std::string& axis : bucket.plan().axes) out << " " << axis;
    }
    out << "\n";
  }
  return out.str();
}

}  // namespace riesz
