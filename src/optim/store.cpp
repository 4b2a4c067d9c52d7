// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/store.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/primitives/backward_passes.h"

namespace riesz {

void Store::updated() {
  cast_masters();
  for (std::size_t part = 0; part < parts(); ++part) spread(part);
}

void Store::keep_masters_in(std::vector<std::shared_ptr<const StateElsewhere>> places) {
  for (const auto& place : places)
    RIESZ_CHECK(!place,
                "this store keeps the masters of half values in memory; leave them there "
                "(Store::keep_state_in with LiesThere::state)");
}

State Store::state() {
  State state;
  for (const Share& share : shares()) {
    const Interval interval{share.begin, share.begin + share.value.numel()};
    state.push_back(
        {share.parameter.name(), "value", share.parameter.space(), interval, share.counted, share.value});
  }
  return state;
}

void check_takes_part(const std::string& what, const Store& store) {
  const Partition& P = store.partition();
  RIESZ_CHECK(
      P.active(), what, ": this worker has none of the parameters, which lie on ", to_string(P),
      ", so it would not know what those workers decide; make the store of the placed model, "
      "whole(model) or StageZeros, which are on the workers of all its stages; or do not call it here");
}

std::vector<Parameter> trained_among(std::vector<Parameter> parameters) {
  std::erase_if(parameters, [](const Parameter& parameter) { return !parameter.trained(); });
  return parameters;
}

void check_trainable(const std::string& what, const Parameter& parameter) {
  const Space& X = parameter.space();
  for (const Axis& axis : X.partition().axes()) {
    const Placement placement = X.placement(axis.name);
    RIESZ_CHECK(axis.extent == 1 || placement == Placement::Sharded || placement == Placement::Replicated,
                what, ": ", parameter.name(), " is ", to_string(placement), " on axis ", axis.name, ", in ",
                to_string(X),
                "; what is trained is stored Sharded or Replicated on each axis, and layers read it as "
                "copies by themselves");
  }
  for (int dim = 0; dim < X.dims(); ++dim) {
    RIESZ_CHECK(!X.terms(dim) && !X.copies(dim), what, ": the shards of ", parameter.name(),
                " overlap on dim ", dim, ", in ", to_string(X), "; one worker must hold each element");
  }
  const at::ScalarType type = parameter.type();
  RIESZ_CHECK(type == at::kDouble || type == at::kFloat || type == at::kBFloat16 || type == at::kHalf, what,
              ": ", parameter.name(), " is of type ", type,
              "; what is trained is of fp64, fp32, bf16 or fp16 (freeze what is not)");
}

bool on_a_device(const std::vector<Share>& shares) {
  return std::any_of(shares.begin(), shares.end(), [](const Share& s) { return !s.gradient.is_cpu(); });
}

void Store::know_finite(const std::vector<Share>& shares, const at::Tensor& norms) {
  norms_ = norms;
  finite_.emplace(Finite{generation(), shares.empty() ? 0 : backward_passes(partition()), {}});
  for (const Share& share : shares) finite_->seen.push_back({share.gradient, share.gradient._version()});
}

void Store::skip_if(const at::Tensor& flag) {
  const bool first = !skip_if_.defined() || skips_in_ != generation();
  skip_if_ = first ? flag : skip_if_.logical_or(flag);
  skips_in_ = generation();
}

at::Tensor Store::take_only_if() { return std::exchange(only_if_, at::Tensor()); }

at::Tensor Store::take_goes_on(const at::Tensor& only_if) {
  const at::Tensor skip_if = std::exchange(skip_if_, at::Tensor());
  if (!skip_if.defined() || skips_in_ != generation()) return only_if;
  const at::Tensor goes_on = skip_if.logical_not();
  return only_if.defined() ? only_if.logical_and(goes_on) : goes_on;
}

std::optional<std::vector<std::size_t>> Store::changed_since_finite(const std::vector<Share>& shares) {
  const std::optional<Finite> known = std::exchange(finite_, std::nullopt);
  const std::uint64_t passes = shares.empty() ? 0 : backward_passes(partition());
  if (!known || known->generation != generation() || known->backward_passes != passes) return std::nullopt;
  const std::vector<Seen>& seen = known->seen;
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const at::Tensor& now = shares[i].gradient;
    const bool same = i < seen.size() && now.is_alias_of(seen[i].gradient) &&
                      now.storage_offset() == seen[i].gradient.storage_offset() &&
                      now._version() == seen[i].version;
    if (!same) changed.push_back(i);
  }
  return changed;
}

}  // namespace riesz
