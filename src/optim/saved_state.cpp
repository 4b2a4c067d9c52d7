// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/optim/saved_table.h"
#include "riesz/optim/state.h"
#include "riesz/partition/vector.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

constexpr const char* kOwn = " of worker ";

/// What a worker has of `wanted`, one after another, where `data` has `held`.
at::Tensor gathered(const at::Tensor& data, const Intervals& held, const Intervals& wanted) {
  if (wanted == held) return data;
  std::map<std::int64_t, std::pair<Interval, std::int64_t>> places;  // by begin: the interval, its place
  std::int64_t at = 0;
  for (const Interval& interval : held) {
    if (interval.size() > 0) places[interval.begin] = {interval, at};
    at += interval.size();
  }
  std::vector<at::Tensor> parts{data.narrow(0, 0, 0)};
  for (const Interval& part : wanted) {
    const auto& [interval, place] = std::prev(places.upper_bound(part.begin))->second;
    parts.push_back(data.narrow(0, place + part.begin - interval.begin, part.size()));
  }
  return at::cat(parts);
}

/// The views that this worker counts.
State counted_once(const State& state) {
  check_each_once(state);
  State result;
  for (const StateView& view : state) {
    if (view.counted) result.push_back(view);
  }
  return result;
}

}  // namespace

struct SavedState::Impl {
  Partition partition;  // on one axis
  SavedTable table;
  std::map<SavedKey, at::Tensor> data;

  void check(const SavedKey& key, const std::vector<SavedTable>& saved,
             const std::vector<SavedTable>& needed) const;
  Vector saved_vector(const SavedKey& key, const std::vector<SavedTable>& saved,
                      at::TensorOptions like) const;
};

SavedState::SavedState(const Partition& P, const State& state) {
  const at::NoGradGuard no_gradient;
  std::map<SavedKey, std::vector<at::Tensor>> parts;
  const State counted = counted_once(state);
  for (const StateView& view : counted) parts[{view.name, view.key}].push_back(view.read().detach());
  Impl impl{P.grid({{"world", P.size()}}), table_of(counted, true), {}};
  for (const auto& [key, tensors] : parts) impl.data[key] = at::cat(tensors);  // a copy, also of one
  impl_ = std::make_shared<const Impl>(std::move(impl));
}

std::int64_t SavedState::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [key, tensor] : impl_->data) sum += static_cast<std::int64_t>(tensor.nbytes());
  return sum;
}

/// That all who need it need what was saved.
void SavedState::Impl::check(const SavedKey& key, const std::vector<SavedTable>& saved,
                             const std::vector<SavedTable>& needed) const {
  const auto& [name, what] = key;
  const SavedPart* from = nullptr;
  for (const SavedTable& table : saved) from = from ? from : find(table, key);
  if (from == nullptr && what.find(kOwn) != std::string::npos) return;
  RIESZ_CHECK(from != nullptr, "SavedState: no ", what, " of ", name,
              " was saved; what goes on must be made as what was saved was: the same parameters, optimizer "
              "and types");
  for (const SavedTable& table : needed) {
    const SavedPart* to = find(table, key);
    RIESZ_CHECK(to == nullptr || (to->n == from->n && to->type == from->type), "SavedState: the ", what,
                " of ", name, " has ", to ? to->n : 0, " elements of type ", to ? to->type : from->type,
                ", and what was saved ", from->n, " of type ", from->type);
  }
  std::int64_t covered = 0;
  for (const Intervals& part : each_once(intervals_of(saved, key))) covered += total(part);
  RIESZ_CHECK(covered == from->n, "SavedState: of the ", what, " of ", name, " ", covered,
              " elements were saved of ", from->n, "; all workers that count some must save theirs");
}

Vector SavedState::Impl::saved_vector(const SavedKey& key, const std::vector<SavedTable>& saved,
                                      at::TensorOptions like) const {
  const std::vector<Intervals> held = each_once(intervals_of(saved, key));
  const SavedPart* mine = find(table, key);
  const Intervals& wanted = held[static_cast<std::size_t>(partition.rank())];
  at::Tensor local = mine ? gathered(data.at(key), mine->intervals, wanted) : at::empty({0}, like);
  std::int64_t n = 0;
  for (const Intervals& part : held) n += total(part);
  const Space X = Space(partition, {n}).sharded(0, "world", Split::pieces(n, held));
  return {X, local.to(like.device())};
}

void SavedState::load(const State& state) const {
  const at::NoGradGuard no_gradient;
  const std::vector<SavedTable> saved = tables_of_all(impl_->partition, impl_->table);
  const std::vector<SavedTable> needed = tables_of_all(impl_->partition, table_of(state, false));
  std::map<SavedKey, std::vector<const StateView*>> views;
  std::set<SavedKey> keys;
  for (const StateView& view : state) views[{view.name, view.key}].push_back(&view);
  for (const SavedTable& table : needed) {
    for (const auto& [key, part] : table) keys.insert(key);
  }
  for (const SavedKey& key : keys) impl_->check(key, saved, needed);
  tell_written_next(state);
  for (const SavedKey& key : keys) {
    const SavedPart* any = nullptr;
    for (const SavedTable& table : saved) any = any ? any : find(table, key);
    for (const StateView* view : views[key]) {
      if (any == nullptr) view->change([](const at::Tensor& x) { x.zero_(); });
    }
    if (any == nullptr || any->n == 0) continue;
    const at::Device device =
        views[key].empty() ? at::Device(at::kCPU) : views[key].front()->options().device();
    const Vector x = impl_->saved_vector(key, saved, at::TensorOptions(any->type).device(device));
    const Space Y = Space(impl_->partition, {any->n})
                        .sharded(0, "world", Split::covering(any->n, intervals_of(needed, key)));
    const at::Tensor local = between(x.space(), Y)(x).local();
    std::int64_t at = 0;
    for (const StateView* view : views[key]) {
      view->change([&](const at::Tensor& part) {
        part.copy_(local.narrow(0, at, part.numel()));
        at += part.numel();
      });
    }
  }
  tell_written(state);
}

void StateView::change(const std::function<void(const at::Tensor&)>& f) const {
  const at::Tensor x = read();
  f(x);
  if (elsewhere) elsewhere->write(x);
}

void check_each_once(const State& state) {
  using Ends = std::map<std::int64_t, std::int64_t>;  // of intervals, by where they begin
  std::map<SavedKey, Ends> found;
  for (const StateView& view : state) {
    if (!view.counted || view.interval.size() == 0) continue;
    Ends& ends = found[{view.name, view.key}];
    const auto next = ends.lower_bound(view.interval.end);
    const bool free = next == ends.begin() || std::prev(next)->second <= view.interval.begin;
    RIESZ_CHECK(free, "a state to save: two have ", view.key, " of ", view.name,
                "; give each a SavedState or folder of its own, or other names, such as two models whose "
                "parameters have the same names");
    ends[view.interval.begin] = view.interval.end;
  }
}

namespace {

/// Once for all views that share it.
void each_owner(const State& state, const std::function<void(const Written&)>& tell) {
  std::set<const void*> told;
  for (const StateView& view : state)
    if (view.written && told.insert(view.written.get()).second) tell(*view.written);
}

}  // namespace

void tell_written_next(const State& state) {
  each_owner(state, [](const Written& owner) {
    if (owner.begins) owner.begins();
  });
}

void tell_written(const State& state, bool in_part) {
  each_owner(state, [in_part](const Written& owner) { in_part ? owner.in_part() : owner.whole(); });
}

std::string own_key(const std::string& key, const Partition& P) {
  return key + kOwn + std::to_string(Runtime::rank()) + " on " + to_string(P);
}

namespace {

template <typename T>
StateView view_of_number(const std::string& name, const std::string& key, const Partition& P, T& number) {
  const at::ScalarType type = std::is_same_v<T, double> ? at::kDouble : at::kLong;
  const std::int64_t here = P.active() ? 1 : 0;
  return {name, key, Space(P, {1}), {0, here}, P.rank() == 0, at::from_blob(&number, {here}, type)};
}

}  // namespace

StateView view_of(const std::string& name, const std::string& key, const Partition& P, std::int64_t& number) {
  return view_of_number(name, key, P, number);
}

StateView view_of(const std::string& name, const std::string& key, const Partition& P, double& number) {
  return view_of_number(name, key, P, number);
}

}  // namespace riesz
