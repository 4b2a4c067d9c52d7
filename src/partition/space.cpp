// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/space.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/descriptions.h"
#include "riesz/comm/error.h"
#include "riesz/comm/plan_cache.h"

namespace riesz {

/// The spaces with extents that were made last of one with dims of any extent. A copy begins with none.
struct Space::Bound {
  Bound() = default;
  Bound(const Bound&) {}
  Bound& operator=(const Bound&) = delete;

  detail::PlanCache<Space> spaces{4};
};

struct Space::Impl {
  Partition partition;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> units;
  std::vector<std::vector<Shard>> shards;  // by dim
  std::vector<Placement> placements;       // by axis
  std::vector<std::int64_t> local_shape;   // this worker's; filled by Space(Impl)
  bool concrete = false;                   // too
  Bound bound = {};
};

namespace {

std::string name_of(const Partition& partition, int axis) { return partition.axis(axis).name; }

void check_units(const Split& split, std::int64_t unit) {
  for (int worker = 0; worker < split.workers(); ++worker) {
    for (const Interval& interval : split.held(worker)) {
      RIESZ_CHECK(interval.begin % unit == 0 && interval.end % unit == 0, "Space: the split ",
                  to_string(split), " breaks units of ", unit);
    }
  }
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t n : shape) text += (text.empty() ? "" : ", ") + (n < 0 ? "any" : std::to_string(n));
  return "(" + text + ")";
}

void check_extents(const std::vector<std::int64_t>& shape) {
  for (const std::int64_t n : shape) {
    RIESZ_CHECK(n >= Space::any, "Space: an extent of ", n, " in ", text_of(shape),
                "; extents are zero or more, or any");
  }
}

}  // namespace

Placement dual(Placement placement) {
  if (placement == Placement::Copied) return Placement::Partial;
  if (placement == Placement::Partial) return Placement::Copied;
  return placement;
}

std::string to_string(Placement placement) {
  constexpr const char* names[] = {"Sharded", "Replicated", "Copied", "Partial"};
  return names[static_cast<int>(placement)];
}

Space::Space(Partition partition, std::vector<std::int64_t> shape) {
  check_extents(shape);
  const std::size_t dims = shape.size();
  const std::size_t axes = partition.axes().size();
  *this = Space(std::make_shared<Impl>(Impl{std::move(partition),
                                            std::move(shape),
                                            std::vector<std::int64_t>(dims, 1),
                                            std::vector<std::vector<Shard>>(dims),
                                            std::vector<Placement>(axes, Placement::Replicated),
                                            {0}}));
}

Space::Space(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
  detail::count_space();
  impl_->local_shape = {0};
  impl_->concrete = std::count(impl_->shape.begin(), impl_->shape.end(), any) == 0;
  bind_zigzags();
  if (!concrete()) return;
  for (std::size_t dim = 0; dim < impl_->shape.size(); ++dim) {
    RIESZ_CHECK(impl_->shape[dim] % impl_->units[dim] == 0, "Space: ", impl_->shape[dim], ", dim ", dim,
                " of ", riesz::to_string(*this), ", is not a whole number of units of ", impl_->units[dim]);
  }
  for (int dim = 0; dim < dims(); ++dim) check_splits(dim);
  if (impl_->partition.active()) impl_->local_shape = local_shape(impl_->partition.rank());
}

void Space::bind_zigzags() {
  for (std::size_t dim = 0; dim < impl_->shape.size(); ++dim) {
    for (Shard& shard : impl_->shards[dim]) {
      if (!shard.zigzag || impl_->shape[dim] == any) continue;
      const int workers = impl_->partition.axis(shard.axis).extent;
      if (workers > 1) shard.split = Split::zigzag(impl_->shape[dim], workers, impl_->units[dim]);
      shard.zigzag = false;
    }
  }
}

void Space::check_splits(int dim) const {
  const auto d = static_cast<std::size_t>(dim);
  const std::vector<Shard>& shards = impl_->shards[d];
  const auto given = [](const Shard& shard) { return shard.split.has_value(); };
  if (std::none_of(shards.begin(), shards.end(), given)) return;
  for (const Shard& shard : shards) {
    if (shard.split) check_units(*shard.split, impl_->units[d]);
  }
  std::vector<Intervals> outer{{{0, impl_->shape[d]}}};
  for (std::size_t level = 0; level < shards.size(); ++level) {
    std::vector<Intervals> inner;
    const int extent = impl_->partition.axis(shards[level].axis).extent;
    for (const Intervals& intervals : outer) {
      for (int at = 0; at < extent; ++at) inner.push_back(piece_of(dim, level, intervals, at));
    }
    outer = std::move(inner);
  }
}

Space Space::sharded(int dim, const std::string& axis) const {
  const int a = impl_->partition.index(axis);
  RIESZ_CHECK(dim >= 0 && dim < dims(), "Space::sharded: dim ", dim, " of ", riesz::to_string(*this));
  RIESZ_CHECK(dim_of(a) < 0, "Space::sharded: axis ", axis, " shards dim ", dim_of(a), " of ",
              riesz::to_string(*this), " already; an axis shards one dim");
  RIESZ_CHECK(shards(dim).empty() || !shards(dim).front().overlaps(),
              "Space::sharded: an overlapping split shards its "
              "dim alone, so axis ",
              axis, " cannot shard dim ", dim, " of ", riesz::to_string(*this), " too");
  auto impl = std::make_shared<Impl>(*impl_);
  impl->shards[static_cast<std::size_t>(dim)].push_back({a, std::nullopt});
  impl->placements[static_cast<std::size_t>(a)] = Placement::Sharded;
  return Space(std::move(impl));
}

Space Space::sharded(int dim, const std::string& axis, const Split& split, bool terms) const {
  const Space balanced = sharded(dim, axis);
  RIESZ_CHECK(split.workers() == impl_->partition.extent(axis), "Space::sharded: the split ",
              riesz::to_string(split), " is for ", split.workers(), " workers, but axis ", axis, " has ",
              impl_->partition.extent(axis));
  RIESZ_CHECK(shards(dim).empty() || !split.overlaps(),
              "Space::sharded: an overlapping split shards its dim alone, so "
              "axis ",
              axis, " cannot shard dim ", dim, " of ", riesz::to_string(*this), " too");
  auto impl = std::make_shared<Impl>(*balanced.impl_);
  Shard& shard = impl->shards[static_cast<std::size_t>(dim)].back();
  shard.split = split;
  shard.terms = terms && split.overlaps();
  return Space(std::move(impl));
}

Space Space::zigzag(int dim, const std::string& axis) const {
  const Space balanced = sharded(dim, axis);
  RIESZ_CHECK(shards(dim).empty(), "Space::zigzag: axis ", axis, " would be the second to shard dim ", dim,
              " of ", riesz::to_string(*this), "; it must be the first");
  auto impl = std::make_shared<Impl>(*balanced.impl_);
  impl->shards[static_cast<std::size_t>(dim)].back().zigzag = true;
  return Space(std::move(impl));
}

Space Space::sharded_like(int dim, const std::string& axis, const Shard& shard) const {
  if (shard.zigzag) return zigzag(dim, axis);
  return shard.split ? sharded(dim, axis, *shard.split, shard.terms) : sharded(dim, axis);
}

Space Space::placed(const std::string& axis, Placement placement) const {
  RIESZ_CHECK(placement != Placement::Sharded, "Space::placed: say which dim axis ", axis,
              " shards: sharded(dim, axis)");
  const int a = impl_->partition.index(axis);
  auto impl = std::make_shared<Impl>(*impl_);
  for (auto& shards : impl->shards) {
    std::erase_if(shards, [a](const Shard& shard) { return shard.axis == a; });
  }
  impl->placements[static_cast<std::size_t>(a)] = placement;
  return Space(std::move(impl));
}

Space Space::unit(int dim, std::int64_t unit) const {
  RIESZ_CHECK(dim >= 0 && dim < dims(), "Space::unit: dim ", dim, " of ", riesz::to_string(*this));
  const std::int64_t n = shape()[static_cast<std::size_t>(dim)];
  RIESZ_CHECK(unit >= 1 && (n == any || n % unit == 0), "Space::unit: ", n, ", dim ", dim, " of ",
              riesz::to_string(*this), ", is not a whole number of units of ", unit);
  auto impl = std::make_shared<Impl>(*impl_);
  impl->units[static_cast<std::size_t>(dim)] = unit;
  return Space(std::move(impl));
}

Space Space::with_shape(std::vector<std::int64_t> shape) const {
  if (shape == impl_->shape) return *this;
  RIESZ_CHECK(shape.size() == impl_->shape.size(), "Space::with_shape: ", text_of(shape), " has ",
              shape.size(), " dims, ", riesz::to_string(*this), " has ", dims());
  if (concrete()) return reshaped(std::move(shape));
  const auto fits = [&](const Space& made) { return made.shape() == shape; };
  return *impl_->bound.spaces.get(fits, [&] { return reshaped(shape); });
}

Space Space::reshaped(std::vector<std::int64_t> shape) const {
  check_extents(shape);
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const std::int64_t unit = impl_->units[dim];
    RIESZ_CHECK(shape[dim] == any || shape[dim] % unit == 0, "Space::with_shape: ", shape[dim], ", dim ", dim,
                " of ", text_of(shape), ", is not a whole number of units of ", unit, ", as ",
                riesz::to_string(*this), " asks");
  }
  auto impl = std::make_shared<Impl>(*impl_);
  impl->shape = std::move(shape);
  return Space(std::move(impl));
}

Space Space::on(const Partition& partition) const {
  if (partition == impl_->partition) return *this;
  Space there(partition, shape());
  for (int dim = 0; dim < dims(); ++dim) there = there.unit(dim, unit_of(dim));
  for (const Axis& axis : partition.axes()) {
    const int a = impl_->partition.find(axis.name);
    if (a >= 0 && placement(a) != Placement::Sharded) there = there.placed(axis.name, placement(a));
  }
  for (int dim = 0; dim < dims(); ++dim) {
    for (const Shard& shard : shards(dim)) {
      const std::string name = name_of(impl_->partition, shard.axis);
      const int a = partition.find(name);
      if (a < 0) continue;
      const bool kept = !shard.split || shard.split->workers() == partition.axis(a).extent;
      if (kept)
        there = there.sharded_like(dim, name, shard);
      else if (shard.overlaps())
        there = shard.terms ? there.partial(name) : there.copied(name);
      else
        there = there.sharded(dim, name);
    }
  }
  return there;
}

const Partition& Space::partition() const { return impl_->partition; }
const std::vector<std::int64_t>& Space::shape() const { return impl_->shape; }
int Space::dims() const { return static_cast<int>(impl_->shape.size()); }
bool Space::concrete() const { return impl_->concrete; }
std::int64_t Space::unit_of(int dim) const { return impl_->units.at(static_cast<std::size_t>(dim)); }
const std::vector<Shard>& Space::shards(int dim) const {
  return impl_->shards.at(static_cast<std::size_t>(dim));
}
Placement Space::placement(int axis) const { return impl_->placements.at(static_cast<std::size_t>(axis)); }
Placement Space::placement(const std::string& axis) const { return placement(impl_->partition.index(axis)); }
const std::vector<std::int64_t>& Space::local_shape() const { return impl_->local_shape; }

std::int64_t Space::numel() const {
  RIESZ_CHECK(concrete(), "Space::numel: ", riesz::to_string(*this), " has a dim of any extent");
  std::int64_t elements = 1;
  for (const std::int64_t n : impl_->shape) elements *= n;
  return elements;
}

int Space::dim_of(int axis) const {
  if (placement(axis) != Placement::Sharded) return -1;
  for (int dim = 0; dim < dims(); ++dim) {
    for (const Shard& shard : shards(dim)) {
      if (shard.axis == axis) return dim;
    }
  }
  return -1;
}

Space dual(const Space& X) {
  const auto& placements = X.impl_->placements;
  bool differs = std::any_of(placements.begin(), placements.end(),
                             [](Placement placement) { return dual(placement) != placement; });
  for (const auto& shards : X.impl_->shards) {
    for (const Shard& shard : shards) differs = differs || shard.overlaps();
  }
  if (!differs) return X;
  auto impl = std::make_shared<Space::Impl>(*X.impl_);
  for (Placement& placement : impl->placements) placement = dual(placement);
  for (auto& shards : impl->shards) {
    for (Shard& shard : shards) shard.terms = shard.overlaps() && !shard.terms;
  }
  return Space(std::move(impl));
}

std::string to_string(const Space& space) {
  detail::count_text();
  std::string text;
  for (int dim = 0; dim < space.dims(); ++dim) {
    if (space.shards(dim).empty()) continue;
    text += (text.empty() ? "dim " : ", dim ") + std::to_string(dim) + " over ";
    for (std::size_t i = 0; i < space.shards(dim).size(); ++i) {
      const Shard& shard = space.shards(dim)[i];
      text += (i == 0 ? "" : " then ") + name_of(space.partition(), shard.axis);
      if (shard.split) text += " as " + to_string(*shard.split);
      if (shard.zigzag) text += " in zigzag";
      if (shard.terms) text += " in terms";
    }
    if (space.unit_of(dim) > 1) text += " in units of " + std::to_string(space.unit_of(dim));
  }
  for (int a = 0; a < static_cast<int>(space.partition().axes().size()); ++a) {
    if (space.placement(a) == Placement::Sharded) continue;
    std::string placement = to_string(space.placement(a));
    placement[0] = static_cast<char>(placement[0] - 'A' + 'a');
    text += (text.empty() ? "" : ", ") + name_of(space.partition(), a) + " " + placement;
  }
  return text_of(space.shape()) + " on " + to_string(space.partition()) + (text.empty() ? "" : ": " + text);
}

}  // namespace riesz
