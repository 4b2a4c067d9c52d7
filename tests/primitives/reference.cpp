// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "reference.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "riesz/comm/communicator.h"

namespace riesz::testing {
namespace {

bool among(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// On the axes that both partitions have with more than one worker, do the two workers stand at the same
/// place?
bool same_place(const Partition& P, int s, const Partition& Q, int r) {
  for (std::size_t a = 0; a < P.axes().size(); ++a) {
    const int b = Q.find(P.axes()[a].name);
    if (b < 0 || P.axes()[a].extent == 1 || Q.axis(b).extent == 1) continue;
    if (P.coordinates(s)[a] != Q.coordinates(r)[static_cast<std::size_t>(b)]) return false;
  }
  return true;
}

bool is_sender(const Primitive& step, int s, int r) {
  const Partition& P = step.domain().partition();
  const Partition& Q = step.range().partition();
  if (among(step.name(), {"Broadcast", "SumReduce", "SendRecv"})) return same_place(P, s, Q, r);
  if (among(step.name(), {"Copy", "Agree", "Slice", "Pad"})) return s == r;
  for (int a = 0; a < static_cast<int>(P.axes().size()); ++a) {
    const auto at = static_cast<std::size_t>(a);
    const bool moved = std::count(step.axes().begin(), step.axes().end(), a) > 0;
    if (!moved && P.coordinates(s)[at] != P.coordinates(r)[at]) return false;
    if (moved && step.name() == "Term" && (P.coordinates(r)[at] != 0 || P.coordinates(s)[at] != 0))
      return false;
  }
  return true;
}

at::Tensor cut(at::Tensor tensor, const Box& of, const Box& with) {
  for (std::size_t dim = 0; dim < of.size(); ++dim) {
    const std::int64_t begin = std::max(of[dim].begin, std::min(with[dim].begin, of[dim].end));
    const std::int64_t end = std::max(begin, std::min(with[dim].end, of[dim].end));
    tensor = tensor.narrow(static_cast<std::int64_t>(dim), begin - of[dim].begin, end - begin);
  }
  return tensor;
}

Box common(const Box& a, const Box& b) {
  Box both;
  for (std::size_t dim = 0; dim < a.size(); ++dim) both.push_back(intersect(a[dim], b[dim]));
  return both;
}

/// The hosts of the workers, by world rank; empty: one.
std::vector<int> hosts_of(const Primitive& step) {
  const bool real = step.domain().partition().real() && step.range().partition().real();
  return real ? Communicator::world().hosts() : std::vector<int>{};
}

/// The worker by which what `s` has for all of another host comes to `r`: one of those there that get the
/// same, by turns; `r` itself where it comes straight. World ranks.
int comes_by(const Primitive& step, int s, int number, int r) {
  const Partition& P = step.domain().partition();
  const Partition& Q = step.range().partition();
  const std::vector<int> hosts = hosts_of(step);
  const auto host = [&](int world) { return hosts[static_cast<std::size_t>(world)]; };
  if (hosts.empty() || host(P.world_rank(s)) == host(Q.world_rank(r))) return Q.world_rank(r);
  const auto part = [&](int q) { return common(step.domain().box(s), step.range().box(q)); };
  std::vector<int> all;
  for (int q = 0; q < Q.size(); ++q) {
    const bool same = is_sender(step, s, q) && (step.name() == "AllReduce" || part(q) == part(r));
    if (same && host(Q.world_rank(q)) == host(Q.world_rank(r))) all.push_back(Q.world_rank(q));
  }
  return all[static_cast<std::size_t>(number) % all.size()];
}

/// By round, sender and receiver (world ranks): the elements of a message.
using Legs = std::map<std::tuple<int, int, int>, std::int64_t>;

void add_copy(Legs& legs, const Primitive& step, int s, int number, int r, std::int64_t elements) {
  const int from = step.domain().partition().world_rank(s);
  const int to = step.range().partition().world_rank(r);
  const int by = comes_by(step, s, number, r);
  legs[by == to ? std::tuple(1, from, to) : std::tuple(2, by, to)] += elements;
}

}  // namespace

bool adds(const Primitive& step) { return among(step.name(), {"AllReduce", "ReduceScatter", "SumReduce"}); }

at::Tensor expected_part(const Primitive& step, const std::vector<at::Tensor>& parts, int rank) {
  const at::ScalarType type = parts.front().scalar_type();
  const bool half = type == at::kHalf || type == at::kBFloat16;
  const bool wide = half && adds(step);
  const Box need = step.range().box(rank);
  at::Tensor y = at::zeros(step.range().local_shape(rank), wide ? at::kFloat : type);
  bool first = true;
  for (int s = 0; s < static_cast<int>(parts.size()); ++s) {
    if (!is_sender(step, s, rank)) continue;
    const Box own = step.domain().box(s);
    const at::Tensor piece = cut(parts[static_cast<std::size_t>(s)], own, need).to(y.scalar_type());
    const at::Tensor place = cut(y, need, own);
    if (adds(step) && !first)
      place.add_(piece);
    else
      place.copy_(piece);
    first = false;
  }
  return y.to(type);
}

/// What comes to one worker of the range from one of the domain.
void add_legs(Legs& legs, const Primitive& step, int sender, int receiver) {
  const Partition& P = step.domain().partition();
  const Partition& Q = step.range().partition();
  const int from = P.world_rank(sender);
  const int to = Q.world_rank(receiver);
  if (from == to || !is_sender(step, sender, receiver)) return;
  if (step.name() != "AllReduce") {
    const std::int64_t n = volume(common(step.domain().box(sender), step.range().box(receiver)));
    if (adds(step) || n == 0)
      legs[{1, from, to}] += n;
    else
      add_copy(legs, step, sender, sender, receiver, n);
    return;
  }
  const std::vector<int> fibre = P.fibre(sender, step.axes());
  const auto number = [&](int worker) {
    return std::find(fibre.begin(), fibre.end(), worker) - fibre.begin();
  };
  const std::int64_t n = volume(step.domain().box(sender));
  const auto p = static_cast<std::int64_t>(fibre.size());
  const auto chunk = [&](int worker) { return n / p + (number(worker) < n % p ? 1 : 0); };
  const bool at_once = p == 2 && n <= 8192;  // two workers give each other all of a small one
  legs[{0, from, to}] += at_once ? n : chunk(receiver);
  if (!at_once && chunk(sender) > 0)
    add_copy(legs, step, sender, static_cast<int>(number(sender)), receiver, chunk(sender));
}

Traffic expected_from(const Primitive& step, int world_rank) {
  Legs legs;
  for (int s = 0; s < step.domain().partition().size(); ++s)
    for (int r = 0; r < step.range().partition().size(); ++r) add_legs(legs, step, s, r);
  Traffic sent;
  for (const auto& [leg, elements] : legs) {
    if (std::get<1>(leg) == world_rank && elements > 0) sent += {elements, 0, 1};
  }
  return sent;
}

Traffic expected_sent(const Primitive& step, int rank) {
  return expected_from(step, step.domain().partition().world_rank(rank));
}

Traffic expected_received(const Primitive& step, int rank) {
  if (!hosts_of(step).empty()) return expected_sent(*step.adjoint(), rank);
  Legs legs;
  for (int s = 0; s < step.domain().partition().size(); ++s) add_legs(legs, step, s, rank);
  Traffic received;
  for (const auto& [leg, elements] : legs)
    if (elements > 0) received += {elements, 0, 1};
  return received;
}

}  // namespace riesz::testing
