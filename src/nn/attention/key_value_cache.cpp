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
              "; it must be whole: bring k and v with between(X, Y) to a space that shards heads "
              "or batch");
  while (!K.shards(kSequence).empty())
    K = K.replicated(K.partition().axis(K.shards(kSequence).front().axis).name);
  return K;
}

}  // namespace

KeyValueCache::KeyValueCache(std::int64_t capacity) : capacity_(capacity) {
  RIESZ_CHECK(capacity >= 0, "KeyValueCache: a capacity of ", capacity, " positions; it is 0 or more");
}

void KeyValueCache::make_room(std::int64_t positions, const at::Tensor& like) {
  if (room_.defined() && positions <= room_.size(2)) return;
  capacity_ = std::max({capacity_, positions, room_.defined() ? 2 * room_.size(2) : 0});
  const at::Tensor room = at::empty({2, like.size(0), capacity_, like.size(2), like.size(3)},
                                    like.options().requires_grad(false));
  if (positions_ > 0) room.narrow(2, 0, positions_).copy_(room_.narrow(2, 0, positions_));
  room_ = room;
}

void KeyValueCache::append(const Vector& k, const Vector& v) {
  RIESZ_CHECK(k.space() == v.space(), "KeyValueCache: k and v lie in different spaces,\n  ",
              to_string(k.space()), "\n  ", to_string(v.space()),
              "\nbring one to the other's with between(X, Y)");
  RIESZ_CHECK(k.space().dims() == 4, "KeyValueCache takes k and v of (B, n, heads, d), not ",
              to_string(k.space()));
  check_not_partial("KeyValueCache", k.space());
  const bool recorded = k.local().requires_grad() || v.local().requires_grad();
  RIESZ_CHECK(!at::GradMode::is_enabled() || !recorded,
              "KeyValueCache: k or v has a gradient, which a cache does not record; generate with none "
              "(at::NoGradGuard guard;)");
  const Space K = whole_sequences(k.space());
  const std::int64_t more = K.shape()[kSequence];
  RIESZ_CHECK(positions_ == 0 || with_positions(*space_, more) == K,
              "KeyValueCache: holds positions of vectors in\n  ", to_string(*space_),
              "\nbut is given some of\n  ", to_string(K),
              "\nbring them there with between(X, Y), or clear() it");
  if (space_ && with_positions(*space_, more) != K) room_ = at::Tensor();
  space_ = K;
  if (K.partition().active()) {
    make_room(positions_ + more, k.local());
    room_.select(0, 0).narrow(1, positions_, more).copy_(k.local());
    room_.select(0, 1).narrow(1, positions_, more).copy_(v.local());
  } else {
    room_ = k.local();
  }
  positions_ += more;
}

Vector KeyValueCache::held(int which) const {
  RIESZ_CHECK(space_, "KeyValueCache: keys or values are asked for before any were appended");
  const Space K = with_positions(*space_, positions_);
  if (!K.partition().active()) return {K, room_};
  return {K, room_.select(0, which).narrow(1, 0, positions_)};
}

}  // namespace riesz
