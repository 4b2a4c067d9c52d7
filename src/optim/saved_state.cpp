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
#include <sstream>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/optim/state.h"
#include "riesz/partition/alike.h"
#include "riesz/partition/global_intervals.h"
#include "riesz/partition/vector.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

constexpr const char* kOwn = " of worker ";

using Key = std::pair<std::string, std::string>;  // name and key

/// What a worker has, or needs, of a vector of n elements, as a flat one.
struct Known {
  std::int64_t n = 0;
  at::ScalarType type = at::kFloat;
  Intervals intervals;
};

using Table = std::map<Key, Known>;

Table table_of(const State& state, bool counted) {
  Table table;
  for (const StateView& view : state) {
    if (counted && !view.counted) continue;
    Known& part = table[{view.name, view.key}];
    part.n = view.space.numel();
    part.type = view.tensor.scalar_type();
    const Intervals more = global_intervals(view.space, view.interval);
    part.intervals.insert(part.intervals.end(), more.begin(), more.end());
  }
  return table;
}

/// As runs of intervals of one size, one step apart: begin, size, step and count. So is a table that is
/// sharded by width, an interval a row, a few numbers.
void write(std::ostream& out, const Intervals& intervals) {
  for (std::size_t i = 0, count = 1; i < intervals.size(); i += count) {
    const Interval& first = intervals[i];
    const std::int64_t step = i + 1 < intervals.size() ? intervals[i + 1].begin - first.begin : 0;
    const auto continues = [&](std::size_t k) {
      return k < intervals.size() && intervals[k].size() == first.size() &&
             intervals[k].begin - intervals[k - 1].begin == step;
    };
    for (count = 1; continues(i + count);) ++count;
    out << " " << first.begin << " " << first.size() << " " << step << " " << count;
  }
}

Intervals intervals_in(std::istream& in) {
  Intervals intervals;
  for (std::int64_t begin, size, step, count; in >> begin >> size >> step >> count;) {
    for (; count > 0; --count, begin += step) intervals.push_back({begin, begin + size});
  }
  return intervals;
}

std::string text_of(const Table& table) {
  std::ostringstream out;
  for (const auto& [key, part] : table) {
    out << key.first << "\n" << key.second << "\n" << part.n << " " << static_cast<int>(part.type);
    write(out, part.intervals);
    out << "\n";
  }
  return out.str();
}

Table table_in(const std::string& text) {
  Table table;
  std::istringstream in(text);
  for (std::string name, key, line;
       std::getline(in, name) && std::getline(in, key) && std::getline(in, line);) {
    Known& part = table[{name, key}];
    std::istringstream numbers(line);
    int type = 0;
    numbers >> part.n >> type;
    part.type = static_cast<at::ScalarType>(type);
    part.intervals = intervals_in(numbers);
  }
  return table;
}

std::vector<Table> tables_of_all(const Partition& P, const Table& mine) {
  std::vector<Table> tables;
  for (const std::string& text : collect_texts(P, text_of(mine))) tables.push_back(table_in(text));
  return tables;
}

const Known* find(const Table& table, const Key& key) {
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &found->second;
}

/// By worker: nothing where it has none.
std::vector<Intervals> intervals_of(const std::vector<Table>& tables, const Key& key) {
  std::vector<Intervals> result;
  for (const Table& table : tables) {
    const Known* part = find(table, key);
    result.push_back(part ? part->intervals : Intervals{});
  }
  return result;
}

/// Each element once, of those that have it: copies in other stores are left out.
std::vector<Intervals> each_once(const std::vector<Intervals>& held) {
  std::vector<std::pair<Interval, std::size_t>> all;
  for (std::size_t worker = 0; worker < held.size(); ++worker) {
    for (const Interval& interval : held[worker]) all.emplace_back(interval, worker);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  std::vector<Intervals> result(held.size());
  std::int64_t covered = 0;
  for (const auto& [interval, worker] : all) {
    if (interval.end <= covered) continue;
    result[worker].push_back({std::max(interval.begin, covered), interval.end});
    covered = interval.end;
  }
  return result;
}

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

/// The views that this worker counts. What several keep under one name, such as a tied weight's number of
/// steps, is one where it is the same.
State counted_once(const State& state) {
  State result;
  std::map<std::pair<Key, std::int64_t>, at::Tensor> found;  // by the vector, and where it begins
  for (const StateView& view : state) {
    if (!view.counted) continue;
    const Key key{view.name, view.key};
    const auto [before, is_new] = found.try_emplace({key, view.interval.begin}, view.tensor);
    if (is_new || view.interval.size() == 0) {
      result.push_back(view);
      continue;
    }
    RIESZ_CHECK(before->second.sizes() == view.tensor.sizes() && at::equal(before->second, view.tensor),
                "SavedState: two have ", view.key, " of ", view.name,
                " that differ; give each its own SavedState, such as two models whose parameters have the "
                "same names");
  }
  return result;
}

}  // namespace

struct SavedState::Impl {
  Partition partition;  // on one axis
  Table table;
  std::map<Key, at::Tensor> data;

  void check(const Key& key, const std::vector<Table>& saved, const std::vector<Table>& needed) const;
  Vector saved_vector(const Key& key, const std::vector<Table>& saved, at::TensorOptions like) const;
};

SavedState::SavedState(const Partition& P, const State& state) {
  const at::NoGradGuard no_gradient;
  std::map<Key, std::vector<at::Tensor>> parts;
  const State counted = counted_once(state);
  for (const StateView& view : counted) parts[{view.name, view.key}].push_back(view.tensor.detach());
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
void SavedState::Impl::check(const Key& key, const std::vector<Table>& saved,
                             const std::vector<Table>& needed) const {
  const auto& [name, what] = key;
  const Known* from = nullptr;
  for (const Table& table : saved) from = from ? from : find(table, key);
  if (from == nullptr && what.find(kOwn) != std::string::npos) return;
  RIESZ_CHECK(from != nullptr, "SavedState: no ", what, " of ", name,
              " was saved; what goes on must be made as what was saved was: the same parameters, optimizer "
              "and types");
  for (const Table& table : needed) {
    const Known* to = find(table, key);
    RIESZ_CHECK(to == nullptr || (to->n == from->n && to->type == from->type), "SavedState: the ", what,
                " of ", name, " has ", to ? to->n : 0, " elements of type ", to ? to->type : from->type,
                ", and what was saved ", from->n, " of type ", from->type);
  }
  std::int64_t covered = 0;
  for (const Intervals& part : each_once(intervals_of(saved, key))) covered += total(part);
  RIESZ_CHECK(covered == from->n, "SavedState: of the ", what, " of ", name, " ", covered,
              " elements were saved of ", from->n, "; all workers that count some must save theirs");
}

Vector SavedState::Impl::saved_vector(const Key& key, const std::vector<Table>& saved,
                                      at::TensorOptions like) const {
  const std::vector<Intervals> held = each_once(intervals_of(saved, key));
  const Known* mine = find(table, key);
  const Intervals& wanted = held[static_cast<std::size_t>(partition.rank())];
  at::Tensor local = mine ? gathered(data.at(key), mine->intervals, wanted) : at::empty({0}, like);
  std::int64_t n = 0;
  for (const Intervals& part : held) n += total(part);
  const Space X = Space(partition, {n}).sharded(0, "world", Split::pieces(n, held));
  return {X, local.to(like.device())};
}

void SavedState::load(const State& state) const {
  const at::NoGradGuard no_gradient;
  const std::vector<Table> saved = tables_of_all(impl_->partition, impl_->table);
  const std::vector<Table> needed = tables_of_all(impl_->partition, table_of(state, false));
  std::map<Key, std::vector<at::Tensor>> views;
  std::set<Key> keys;
  for (const StateView& view : state) views[{view.name, view.key}].push_back(view.tensor);
  for (const Table& table : needed) {
    for (const auto& [key, part] : table) keys.insert(key);
  }
  for (const Key& key : keys) impl_->check(key, saved, needed);
  for (const Key& key : keys) {
    const Known* any = nullptr;
    for (const Table& table : saved) any = any ? any : find(table, key);
    for (const at::Tensor& view : views[key]) {
      if (any == nullptr) view.zero_();
    }
    if (any == nullptr || any->n == 0) continue;
    const at::Device device = views[key].empty() ? at::Device(at::kCPU) : views[key].front().device();
    const Vector x = impl_->saved_vector(key, saved, at::TensorOptions(any->type).device(device));
    const Space Y = Space(impl_->partition, {any->n})
                        .sharded(0, "world", Split::covering(any->n, intervals_of(needed, key)));
    const at::Tensor local = between(x.space(), Y)(x).local();
    std::int64_t at = 0;
    for (const at::Tensor& view : views[key]) {
      view.copy_(local.narrow(0, at, view.numel()));
      at += view.numel();
    }
  }
}

std::string own_key(const std::string& key, const Partition& P) {
  return key + kOwn + std::to_string(P.rank()) + " of " + to_string(P);
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
