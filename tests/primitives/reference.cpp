// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "reference.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>

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

Traffic expected_traffic(const Primitive& step, int sender, int receiver) {
  const Partition& P = step.domain().partition();
  const Partition& Q = step.range().partition();
  if (P.world_rank(sender) == Q.world_rank(receiver) || !is_sender(step, sender, receiver)) return {};
  std::vector<std::int64_t> payloads;
  if (step.name() == "AllReduce") {
    const std::vector<int> fibre = P.fibre(sender, step.axes());
    const std::int64_t n = volume(step.domain().box(sender));
    const auto p = static_cast<std::int64_t>(fibre.size());
    if (p == 2 && n > 0 && n <= 8192) return {n, 0, 1};  // two workers give each other all of a small one
    for (const int worker : {receiver, sender}) {  // its term of the other's chunk; its own chunk when added
      const auto i = std::find(fibre.begin(), fibre.end(), worker) - fibre.begin();
      payloads.push_back(n / p + (i < n % p ? 1 : 0));
    }
  } else {
    const at::Tensor x = at::zeros(step.domain().local_shape(sender));
    payloads.push_back(cut(x, step.domain().box(sender), step.range().box(receiver)).numel());
  }
  Traffic traffic;
  for (const std::int64_t payload : payloads) {
    if (payload > 0) traffic += {payload, 0, 1};
  }
  return traffic;
}

Traffic expected_sent(const Primitive& step, int rank) {
  Traffic sent;
  for (int r = 0; r < step.range().partition().size(); ++r) sent += expected_traffic(step, rank, r);
  return sent;
}

Traffic expected_received(const Primitive& step, int rank) {
  Traffic received;
  for (int s = 0; s < step.domain().partition().size(); ++s) received += expected_traffic(step, s, rank);
  return received;
}

}  // namespace riesz::testing
