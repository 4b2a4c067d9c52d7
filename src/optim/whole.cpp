// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/nn/module.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/optim/store.h"
#include "riesz/optim/trained_alike.h"

namespace riesz {
namespace {

/// Stands for tensors as flat contiguous ones of a type: a view where that can be, else a copy, which it
/// keeps until the tensor is another or has changed.
class Flat {
 public:
  at::Tensor of(const at::Tensor& source, at::ScalarType type) {
    if (source.scalar_type() == type && source.is_contiguous()) {
      *this = {};
      return source.detach().view({-1});
    }
    if (!source_.defined() || !source_.is_same(source) || version_ != source._version()) {
      source_ = source;
      version_ = source._version();
      copy_ = source.detach().to(type).contiguous().view({-1});
    }
    return copy_;
  }
  void write_back() {
    if (!source_.defined()) return;
    source_.detach().copy_(copy_.view(source_.sizes()));
    version_ = source_._version();
  }

 private:
  at::Tensor source_;
  std::int64_t version_ = 0;
  at::Tensor copy_;
};

/// Zero's gradients are not at the leaves once they are reduced, and its values may be copies.
void check_free(const Parameter& parameter) {
  RIESZ_CHECK(
      !parameter.has_keeper(), "whole: the parameter ", parameter.name(),
      " is kept by riesz::Zero, and so are its gradient and what is trained of it; give the optimizer "
      "Zero's store, such as AdamW(zero.store()), instead of the parameters");
}

/// One that all share, or else the union of the different ones; nothing of none.
std::optional<Partition> union_of(const std::vector<Partition>& homes) {
  std::optional<Partition> all;
  std::vector<Partition> known;
  for (const Partition& home : homes) {
    if (std::find(known.begin(), known.end(), home) != known.end()) continue;
    known.push_back(home);
    all = all ? *all | home : home;
  }
  return all;
}

class Whole : public Store {
 public:
  /// On these workers, if they are said and not only those of the parameters.
  Whole(std::vector<Parameter> parameters, std::optional<Partition> workers)
      : parameters_(std::move(parameters)),
        workers_(std::move(workers)),
        values_(parameters_.size()),
        gradients_(parameters_.size()),
        versions_(parameters_.size()) {
    std::set<const void*> known;
    for (const Parameter& parameter : parameters_) {
      check_free(parameter);
      const at::Tensor local = parameter.leaf();
      RIESZ_CHECK(known.insert(local.unsafeGetTensorImpl()).second, "whole: the parameter ", parameter.name(),
                  " is given twice, so it would step twice");
      check_trainable("whole", parameter);
    }
  }

  std::vector<Share> shares() override {
    const at::NoGradGuard no_gradient;
    const at::Tensor none_came = zeros_before_any();
    std::vector<Share> result;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      check_free(parameters_[i]);
      RIESZ_CHECK(parameters_[i].trained(), "whole: the parameter ", parameters_[i].name(),
                  " was frozen after its optimizer was made, which would still move it; freeze first");
      const at::Tensor local = parameters_[i].value().local();
      const at::ScalarType type = accumulation_type(local.scalar_type());
      const at::TensorOptions options = local.options().dtype(type);
      const at::Tensor gradient = local.grad().defined() ? gradients_[i].of(local.grad(), type)
                                  : none_came.defined() && none_came.options().type_equal(options)
                                      ? none_came.narrow(0, 0, local.numel())
                                      : at::zeros({local.numel()}, options);
      result.push_back({parameters_[i], 0, value(i), gradient, counted(parameters_[i].space())});
      if (master(i) && versions_[i] != parameters_[i].leaf()._version()) {  // something else has changed it
        master(i)->write(result.back().value.to(type));
        versions_[i] = parameters_[i].leaf()._version();
      }
    }
    return result;
  }

  void spread(std::size_t) override {
    const at::NoGradGuard no_gradient;
    // Who updates many at once may raise no versions, by which copies and regions know of writes.
    for (const Parameter& parameter : parameters_) parameter.leaf().unsafeGetTensorImpl()->bump_version();
    for (Flat& value : values_) value.write_back();
    for (std::size_t i = 0; i < parameters_.size(); ++i) versions_[i] = parameters_[i].leaf()._version();
  }

  void keep_masters_in(std::vector<std::shared_ptr<const StateElsewhere>> places) override {
    const at::NoGradGuard no_gradient;
    if (places.empty() && masters_.empty()) return;
    const auto before = std::exchange(masters_, {});
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const bool was_elsewhere = !before.empty() && before[i];
      const bool will_be = !places.empty() && places[i];
      if (!was_elsewhere && !will_be) continue;
      if (was_elsewhere) values_[i].write_back();
      const at::Tensor now = was_elsewhere ? before[i]->read() : value(i);
      if (will_be) places[i]->write(now);
      values_[i] = {};
      if (!will_be) value(i).copy_(now);
      versions_[i] = parameters_[i].leaf()._version();
    }
    masters_ = std::move(places);
  }

  void cast_masters() override {
    const at::NoGradGuard no_gradient;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (master(i)) value(i).copy_(master(i)->read());
  }

  State state() override {
    State state = Store::state();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor local = parameters_[i].leaf().detach();
      if (accumulation_type(local.scalar_type()) == local.scalar_type()) continue;
      if (master(i)) {
        StateView there = state[i];
        there.key = "master";
        there.tensor.reset();
        there.elsewhere = master(i);
        state.push_back(std::move(there));
        continue;
      }
      StateView value = state[i];
      state[i].key = "master";
      value.tensor = local.reshape({-1});
      state.push_back(std::move(value));
    }
    return state;
  }

  void zero_gradients() override {
    for (Parameter& parameter : parameters_) parameter.zero_gradient();
    gradients_.assign(parameters_.size(), {});
    begin_generation();
  }

  Holds holds() const override { return Holds::whole; }

  const Partition& partition() const override {
    RIESZ_CHECK(workers_, "whole: no parameters, so nobody knows on which workers; give it a placed model");
    return *workers_;
  }

 private:
  /// Where the master of a half value lies elsewhere.
  std::shared_ptr<const StateElsewhere> master(std::size_t i) const {
    return masters_.empty() ? nullptr : masters_[i];
  }
  /// What is trained, or a half value whose master lies elsewhere; flat.
  at::Tensor value(std::size_t i) {
    const at::Tensor local = parameters_[i].value().local();
    const at::ScalarType type = local.scalar_type();
    return values_[i].of(local, master(i) ? type : accumulation_type(type));
  }

  /// While no gradient has come, as when an optimizer is made: one for all, not as many as there are weights.
  at::Tensor zeros_before_any() const {
    at::Tensor largest;
    for (const Parameter& parameter : parameters_) {
      const at::Tensor local = parameter.value().local();
      if (local.grad().defined()) return {};
      if (!largest.defined() || local.numel() > largest.numel()) largest = local;
    }
    if (!largest.defined()) return {};
    const at::ScalarType type = accumulation_type(largest.scalar_type());
    return at::zeros({largest.numel()}, largest.options().dtype(type).requires_grad(false));
  }

  static bool counted(const Space& X) {
    const Partition& P = X.partition();
    return P.active() && X.leader(P.rank(), {Placement::Replicated}) == P.rank();
  }

  std::vector<Parameter> parameters_;
  std::optional<Partition> workers_;
  std::vector<Flat> values_;
  std::vector<Flat> gradients_;
  std::vector<std::shared_ptr<const StateElsewhere>> masters_;  // none: in memory
  std::vector<std::int64_t> versions_;  // of leaves whose masters lie elsewhere, when these were right
};

}  // namespace

std::shared_ptr<Store> whole(std::vector<Parameter> parameters) {
  std::vector<Partition> homes;
  for (const Parameter& parameter : parameters) homes.push_back(parameter.space().partition());
  check_trained_alike("whole", parameters);
  return std::make_shared<Whole>(trained_among(std::move(parameters)), union_of(homes));
}

std::shared_ptr<Store> whole(const Module& model) {
  const Stages* stages = model.stages();
  if (stages == nullptr) return whole(model.parameters());
  check_trained_alike("whole", model.parameters());
  return std::make_shared<Whole>(trained_among(model.parameters()), stages->workers());
}

}  // namespace riesz
