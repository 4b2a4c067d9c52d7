// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/pieces.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/checkpoint/state_lost.h"
#include "riesz/partition/vector.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

/// By vector, what this worker has of it. What lies elsewhere is read when its vector is brought.
using Parts = std::map<SavedKey, std::vector<const StateView*>>;

Parts parts_of(const State& state) {
  Parts parts;
  for (const StateView& view : state) parts[{view.name, view.key}].push_back(&view);
  return parts;
}

/// Why this worker could not read all of its state. It takes part in all moves nevertheless.
class Unread {
 public:
  /// On the CPU; zeros where that fails.
  at::Tensor read(const StateView& view) {
    try {
      return view.read().detach().cpu();
    } catch (const Error&) {
      keep(std::current_exception());
      lost_ = lost_ || view.elsewhere;
    } catch (...) {  // such as of memory
      keep(std::current_exception());
    }
    return at::zeros({view.interval.size()}, view.options().device(at::kCPU));
  }

  /// Throws on all workers if one could not. Collective over P.
  void agree(const Partition& P) const {
    try {
      all_or_none(P, [this] {
        if (why_) std::rethrow_exception(why_);
      });
    } catch (const Error& error) {
      if (any_flag(P, {"world"}, lost_)) throw StateLost(error.what());
      throw;
    }
  }

 private:
  void keep(std::exception_ptr why) {
    if (!why_) why_ = std::move(why);
  }

  std::exception_ptr why_;  // the first
  bool lost_ = false;
};

/// What this worker writes of a vector. Collective over P.
at::Tensor brought(const Partition& P, const WrittenVector& vector, const Parts& parts, Unread& unread) {
  std::vector<at::Tensor> mine;
  const auto found = parts.find(vector.key);
  if (found != parts.end()) {
    for (const StateView* part : found->second) mine.push_back(unread.read(*part));
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
  Unread unread;
  for (const WrittenVector& vector : plan.vectors) {
    if (vector.written.extent() == 0) continue;
    const at::Tensor mine = brought(P, vector, parts, unread).contiguous();
    if (mine.numel() > 0) {
      const std::int64_t first = vector.written.held(P.rank()).front().begin;
      const auto width = static_cast<std::int64_t>(mine.element_size());
      take({vector.file, vector.place.begin + first * width, mine, &vector});
    }
    if (then) then(vector);
  }
  unread.agree(P);
}

}  // namespace riesz
