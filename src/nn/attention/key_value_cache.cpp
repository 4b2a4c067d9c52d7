// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/key_value_cache.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

constexpr int kSequence = 1;

Space with_positions(const Space& K, std::int64_t positions) {
  std::vector<std::int64_t> shape = K.shape();
  shape[kSequence] = positions;
  return K.with_shape(shape);
}

/// K without the axes of one worker that shard its sequence.
Space whole_sequences(Space K) {
  const std::vector<std::string> axes = sharding_axes(K, kSequence);
  RIESZ_CHECK(axes.empty(), "KeyValueCache: axis ", axes.front(), " shards the sequence, dim 1 of ",
              to_string(K),
              "; it must be whole: generate with the model at a layout that shards heads or batch instead "
              "(spaces::ulysses for spaces::ring), to which each weight is copied by "
              "p.set(full_tensor(q.get())), or bring k and v to such a space with between(X, Y)");
  while (!K.shards(kSequence).empty())
    K = K.replicated(K.partition().axis(K.shards(kSequence).front().axis).name);
  return K;
}

}  // namespace

KeyValueCache::KeyValueCache(std::int64_t capacity, std::optional<std::int64_t> window)
    : capacity_(capacity), window_(window) {
  RIESZ_CHECK(capacity >= 0, "KeyValueCache: a capacity of ", capacity, " positions; it is 0 or more");
  RIESZ_CHECK(!window || *window > 0, "KeyValueCache: a window of ", window.value_or(0),
              " positions; it is of a position's own and those before, 1 or more");
}

/// What no position to come sees.
void KeyValueCache::forget_hidden() {
  if (!window_ || held_ < *window_) return;
  const std::int64_t hidden = held_ - (*window_ - 1);
  first_ += hidden;
  begin_ += hidden;
  held_ -= hidden;
}

void KeyValueCache::make_room(std::int64_t more, const at::Tensor& like) {
  const at::Tensor from = room();
  const std::int64_t room = from.defined() ? from.size(2) : 0;
  const bool alone = room_.use_count() == 1;
  if (alone && begin_ + held_ + more <= room) return;
  const bool moves_down = alone && window_ && 2 * held_ + more <= room;  // to where nothing is still held
  if (!moves_down) {
    const std::int64_t enough = window_ ? 2 * (*window_ - 1) + more : 2 * room;
    const std::int64_t grown = begin_ + held_ + more <= room ? room : std::min(2 * room, enough);
    capacity_ = std::max({capacity_, held_ + more, grown});
  }
  const at::Tensor to = moves_down ? from
                                   : at::empty({2, like.size(0), capacity_, like.size(2), like.size(3)},
                                               like.options().requires_grad(false));
  if (held_ > 0) to.narrow(2, 0, held_).copy_(from.narrow(2, begin_, held_));
  if (!moves_down) take(to);
  begin_ = 0;
}

void KeyValueCache::append(const Vector& k, const Vector& v) {
  RIESZ_CHECK(k.space() == v.space(), "KeyValueCache: k and v lie in different spaces,\n  ",
              to_string(k.space()), "\n  ", to_string(v.space()), "\n",
              conversion_hint(k.space(), v.space()));
  RIESZ_CHECK(k.space().dims() == 4, "KeyValueCache takes k and v of (B, n, heads, d), not ",
              to_string(k.space()));
  check_not_partial("KeyValueCache", k.space());
  const at::ScalarType type = k.local().scalar_type();
  RIESZ_CHECK(v.local().scalar_type() == type, "KeyValueCache: k has elements of type ", type,
              " and v of type ", v.local().scalar_type(), "; bring one to the other's");
  const bool other_type = room_ && room_->scalar_type() != type;
  RIESZ_CHECK(positions() == 0 || !other_type, "KeyValueCache: holds elements of type ",
              room_ ? room_->scalar_type() : type, " but is given some of type ", type,
              "; bring them to one type, or clear() it");
  const bool recorded = k.local().requires_grad() || v.local().requires_grad();
  RIESZ_CHECK(!at::GradMode::is_enabled() || !recorded,
              "KeyValueCache: k or v has a gradient, which a cache does not record; generate with none "
              "(at::NoGradGuard guard;)");
  const Space K = whole_sequences(k.space());
  const std::int64_t more = K.shape()[kSequence];
  RIESZ_CHECK(positions() == 0 || with_positions(*space_, more) == K,
              "KeyValueCache: holds positions of vectors in\n  ", to_string(*space_),
              "\nbut is given some of\n  ", to_string(K), "\n",
              conversion_hint(with_positions(*space_, more), K), "; or clear() it");
  if (other_type || (space_ && with_positions(*space_, more) != K)) room_.reset();
  space_ = K;
  forget_hidden();
  if (K.partition().active()) {
    make_room(more, k.local());
    room_->select(0, 0).narrow(1, begin_ + held_, more).copy_(k.local());
    room_->select(0, 1).narrow(1, begin_ + held_, more).copy_(v.local());
  } else {
    take(k.local());
  }
  held_ += more;
}

Vector KeyValueCache::part(int which) const {
  RIESZ_CHECK(space_, "KeyValueCache: keys or values are asked for before any were appended");
  const Space K = with_positions(*space_, held_);
  if (!K.partition().active()) return {K, *room_};
  return {K, room_->select(0, which).narrow(1, begin_, held_)};
}

}  // namespace riesz
