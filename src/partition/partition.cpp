// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/partition.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "riesz/comm/descriptions.h"
#include "riesz/comm/error.h"
#include "riesz/comm/label.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/simulation.h"

namespace riesz {

struct Partition::Impl {
  /// Of workers of a partition, and of its job, also while another goes on.
  static Partition derived(const Partition& from, std::vector<int> workers, std::vector<Axis> axes) {
    const Impl& parent = *from.impl_;
    Partition made(std::move(workers), std::move(axes), parent.me, parent.real);
    if (made.impl_->job == parent.job) return made;
    auto impl = std::make_shared<Impl>(*made.impl_);
    impl->job = parent.job;
    made.impl_ = std::move(impl);
    return made;
  }

  std::vector<int> workers;  // world ranks, by rank here
  std::vector<Axis> axes;
  std::vector<int> strides;  // by axis
  int me;                    // this worker's world rank
  int rank;                  // this worker's rank here, or −1
  bool real;
  std::uint64_t job;  // that it is of, if it is real
  std::uint64_t digest;
};

namespace {

std::string names_of(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) text += (text.empty() ? "" : ", ") + axis.name;
  return text.empty() ? "none" : text;
}

std::string extents_of(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) text += (text.empty() ? "" : " x ") + std::to_string(axis.extent);
  return text.empty() ? "1" : text;
}

std::uint64_t digest_of(const std::vector<int>& workers, const std::vector<Axis>& axes) {
  DigestBuilder digest;
  for (const Axis& axis : axes) digest.mix(axis.name).mix(static_cast<std::uint64_t>(axis.extent));
  for (const int worker : workers) digest.mix(static_cast<std::uint64_t>(worker));
  return digest.value();
}

}  // namespace

Partition::Partition(std::vector<int> workers, std::vector<Axis> axes, int me, bool real) {
  detail::count_partition();
  auto impl = std::make_shared<Impl>();
  impl->workers = std::move(workers);
  impl->axes = std::move(axes);
  impl->me = me;
  impl->real = real;
  impl->job = real ? Simulation::job() : 0;
  const auto found = std::find(impl->workers.begin(), impl->workers.end(), me);
  impl->rank = found == impl->workers.end() ? -1 : static_cast<int>(found - impl->workers.begin());
  impl->strides.assign(impl->axes.size(), 1);
  for (std::size_t a = impl->axes.size(); a-- > 1;) {
    impl->strides[a - 1] = impl->strides[a] * impl->axes[a].extent;
  }
  impl->digest = digest_of(impl->workers, impl->axes);
  impl_ = std::move(impl);
}

Partition Partition::world() {
  RIESZ_CHECK(Runtime::active(),
              "Partition::world: no Runtime is alive; make one in main, or plan on "
              "Partition::simulated(size)");
  std::vector<int> workers(static_cast<std::size_t>(Runtime::size()));
  std::iota(workers.begin(), workers.end(), 0);
  return {std::move(workers), {{"world", Runtime::size()}}, Runtime::rank(), true};
}

Partition Partition::simulated(int size, int me) {
  RIESZ_CHECK(size >= 1 && me >= 0 && me < size, "Partition::simulated(", size, ", ", me,
              "): needs 0 <= me < size");
  std::vector<int> workers(static_cast<std::size_t>(size));
  std::iota(workers.begin(), workers.end(), 0);
  return {std::move(workers), {{"world", size}}, me, false};
}

Partition Partition::grid(const std::vector<Axis>& axes) const {
  int product = 1;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    RIESZ_CHECK(axes[a].extent >= 1, "Partition::grid: axis ", axes[a].name, " has extent ", axes[a].extent,
                "; an extent is at least 1");
    for (std::size_t b = 0; b < a; ++b) {
      RIESZ_CHECK(axes[a].name != axes[b].name, "Partition::grid: two axes are named ", axes[a].name);
    }
    product *= axes[a].extent;
  }
  RIESZ_CHECK(product == size(), "Partition::grid: a grid of ", extents_of(axes), " = ", product,
              " workers (axes ", names_of(axes), ") does not fit the partition's ", size(),
              "; the product of the extents must be ", size());
  return Impl::derived(*this, impl_->workers, axes);
}

Partition Partition::along(const std::vector<std::string>& axes) const {
  RIESZ_CHECK(active(), "Partition::along: this worker is not in ", to_string(*this),
              ", so no fibre goes through it");
  std::vector<int> positions = indices(axes);
  std::sort(positions.begin(), positions.end());
  std::vector<Axis> kept;
  for (const int a : positions) kept.push_back(impl_->axes[static_cast<std::size_t>(a)]);
  std::vector<int> workers;
  for (const int rank : fibre(impl_->rank, positions)) workers.push_back(world_rank(rank));
  return Impl::derived(*this, std::move(workers), std::move(kept));
}

Partition Partition::at(const std::string& axis, int coordinate) const {
  const auto a = static_cast<std::size_t>(index(axis));
  RIESZ_CHECK(coordinate >= 0 && coordinate < impl_->axes[a].extent, "Partition::at: ", axis, " = ",
              coordinate, " is outside ", to_string(*this));
  std::vector<Axis> kept = impl_->axes;
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(a));
  std::vector<int> workers;
  for (int rank = 0; rank < size(); ++rank) {
    if (this->coordinate(rank, static_cast<int>(a)) == coordinate) workers.push_back(world_rank(rank));
  }
  return Impl::derived(*this, std::move(workers), std::move(kept));
}

Partition Partition::factor(const std::string& axis, const std::vector<Axis>& parts) const {
  const auto a = static_cast<std::ptrdiff_t>(index(axis));
  int product = 1;
  for (const Axis& part : parts) product *= part.extent;
  RIESZ_CHECK(product == extent(axis), "Partition::factor: ", extents_of(parts), " = ", product,
              " is not the extent ", extent(axis), " of axis ", axis, " of ", to_string(*this));
  std::vector<Axis> axes = impl_->axes;
  axes.erase(axes.begin() + a);
  axes.insert(axes.begin() + a, parts.begin(), parts.end());
  return grid(axes);
}

Partition Partition::subset(const std::vector<int>& ranks) const {
  RIESZ_CHECK(!ranks.empty(), "Partition::subset: no ranks given; a partition has at least one worker");
  std::vector<int> workers;
  for (const int rank : ranks) {
    RIESZ_CHECK(rank >= 0 && rank < size(), "Partition::subset: rank ", rank, " is outside ",
                to_string(*this));
    RIESZ_CHECK(std::find(workers.begin(), workers.end(), world_rank(rank)) == workers.end(),
                "Partition::subset: rank ", rank, " is given twice");
    workers.push_back(world_rank(rank));
  }
  const int count = static_cast<int>(workers.size());
  return Impl::derived(*this, std::move(workers), {{"subset", count}});
}

Partition operator|(const Partition& P, const Partition& Q) {
  RIESZ_CHECK(P.real() == Q.real(), "P | Q: one partition is simulated and the other is not");
  std::vector<int> workers = P.impl_->workers;
  const std::unordered_set<int> first(workers.begin(), workers.end());
  for (const int worker : Q.impl_->workers) {
    if (!first.contains(worker)) workers.push_back(worker);
  }
  const int count = static_cast<int>(workers.size());
  return Partition::Impl::derived(P, std::move(workers), {{"union", count}});
}

void check_real(const std::string& what, const Partition& partition) {
  RIESZ_CHECK(partition.real() || partition.size() == 1, what, ": the workers of ", to_string(partition),
              " are made up by Partition::simulated, and send nothing; run the program in a Simulation");
}

int Partition::size() const { return static_cast<int>(impl_->workers.size()); }
const std::vector<Axis>& Partition::axes() const { return impl_->axes; }
bool Partition::active() const { return impl_->rank >= 0; }
int Partition::rank() const { return impl_->rank; }
bool Partition::real() const { return impl_->real; }
const std::vector<int>& Partition::workers() const { return impl_->workers; }
std::uint64_t Partition::digest() const { return impl_->digest; }

int Partition::world_rank(int rank) const { return impl_->workers.at(static_cast<std::size_t>(rank)); }

int Partition::find(const std::string& axis) const {
  for (std::size_t a = 0; a < impl_->axes.size(); ++a) {
    if (impl_->axes[a].name == axis) return static_cast<int>(a);
  }
  return -1;
}

int Partition::index(const std::string& axis) const {
  const int a = find(axis);
  RIESZ_CHECK(a >= 0, "no axis is named \"", axis, "\" on ", to_string(*this),
              "; its axes: ", names_of(impl_->axes));
  return a;
}

std::vector<int> Partition::indices(const std::vector<std::string>& axes) const {
  std::vector<int> positions;
  for (const std::string& axis : axes) {
    positions.push_back(index(axis));
    RIESZ_CHECK(std::count(positions.begin(), positions.end(), positions.back()) == 1, "axis ", axis,
                " is given twice; name each axis of ", to_string(*this), " at most once");
  }
  return positions;
}

int Partition::extent(const std::string& axis) const {
  return impl_->axes[static_cast<std::size_t>(index(axis))].extent;
}

int Partition::coordinate(int rank, int axis) const {
  const auto a = static_cast<std::size_t>(axis);
  return rank / impl_->strides[a] % impl_->axes[a].extent;
}

std::vector<int> Partition::coordinates(int rank) const {
  RIESZ_CHECK(rank >= 0 && rank < size(), "Partition::coordinates: rank ", rank, " is outside ",
              to_string(*this));
  std::vector<int> at;
  for (int a = 0; a < static_cast<int>(impl_->axes.size()); ++a) at.push_back(coordinate(rank, a));
  return at;
}

int Partition::rank_in(int world_rank) const {
  const auto likely = static_cast<std::size_t>(world_rank);
  if (likely < impl_->workers.size() && impl_->workers[likely] == world_rank) return world_rank;
  const auto found = std::find(impl_->workers.begin(), impl_->workers.end(), world_rank);
  return found == impl_->workers.end() ? -1 : static_cast<int>(found - impl_->workers.begin());
}

int Partition::rank_of(const std::vector<int>& coordinates) const {
  RIESZ_CHECK(coordinates.size() == impl_->axes.size(), "Partition::rank_of: ", coordinates.size(),
              " coordinates for ", to_string(*this));
  int rank = 0;
  for (std::size_t a = 0; a < coordinates.size(); ++a) rank += coordinates[a] * impl_->strides[a];
  return rank;
}

std::vector<int> Partition::fibre(int rank, const std::vector<int>& axes) const {
  std::vector<int> ranks{rank};
  for (const int a : axes) ranks[0] -= coordinate(rank, a) * impl_->strides[static_cast<std::size_t>(a)];
  for (const int a : axes) {
    const int stride = impl_->strides[static_cast<std::size_t>(a)];
    const std::vector<int> before = ranks;
    ranks.clear();
    for (int at = 0; at < impl_->axes[static_cast<std::size_t>(a)].extent; ++at) {
      for (const int origin : before) ranks.push_back(origin + at * stride);
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

bool Partition::operator==(const Partition& other) const {
  if (impl_ == other.impl_) return true;
  return impl_->workers == other.impl_->workers && impl_->axes == other.impl_->axes &&
         impl_->real == other.impl_->real && impl_->job == other.impl_->job && rank() == other.rank();
}

std::string to_string(const Partition& partition) {
  std::string text;
  for (const Axis& axis : partition.axes()) {
    text += (text.empty() ? "" : ", ") + axis.name + "=" + std::to_string(axis.extent);
  }
  return "(" + text + ")";
}

}  // namespace riesz
