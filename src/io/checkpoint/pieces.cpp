// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/pieces.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <map>
#include <vector>

#include "riesz/partition/vector.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

/// By vector, what this worker has of it.
using Parts = std::map<SavedKey, std::vector<at::Tensor>>;

Parts parts_of(const State& state) {
  Parts parts;
  for (const StateView& view : state) parts[{view.name, view.key}].push_back(view.tensor.detach());
  return parts;
}

/// What this worker writes of a vector. Collective over P.
at::Tensor brought(const Partition& P, const WrittenVector& vector, const Parts& parts) {
  std::vector<at::Tensor> mine;
  const auto found = parts.find(vector.key);
  if (found != parts.end()) {
    for (const at::Tensor& part : found->second) mine.push_back(part.cpu());
  }
  if (mine.empty()) mine.push_back(at::empty({0}, vector.type));
  const at::Tensor local = mine.size() == 1 ? mine.front() : at::cat(mine);
  const std::int64_t n = vector.written.extent();
  const Space X = Space(P, {n}).sharded(0, "world", Split::covering(n, vector.held));
  const Space Y = Space(P, {n}).sharded(0, "world", vector.written);
  return between(X, Y)(Vector(X, local)).local();
}

}  // namespace

void for_each_piece(const Partition& P, const CheckpointPlan& plan, const State& state,
                    const std::function<void(const Piece&)>& take,
                    const std::function<void(const WrittenVector&)>& then) {
  const Parts parts = parts_of(state);
  for (const WrittenVector& vector : plan.vectors) {
    if (vector.written.extent() == 0) continue;
    const at::Tensor mine = brought(P, vector, parts).contiguous();
    if (mine.numel() > 0) {
      const std::int64_t first = vector.written.held(P.rank()).front().begin;
      const auto width = static_cast<std::int64_t>(mine.element_size());
      take({vector.file, vector.place.begin + first * width, mine});
    }
    if (then) then(vector);
  }
}

}  // namespace riesz
