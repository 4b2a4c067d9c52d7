// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/row_attention.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "riesz/nn/vectors/lanes.h"
#include "riesz/nn/vectors/plain_floats.h"

namespace riesz::detail {
namespace {

/// Of one sequence: q and y in rows of d; of k and v the rows of d of all key heads, a step from those of the
/// next position. Query head h uses key head key_heads[h]. `weights` has room for S a query head.
struct Sequence {
  const float *q, *k, *v;
  float *weights, *y;
  const std::int64_t* key_heads;
  std::int64_t heads, S, d, k_step, v_step, k_head_step, v_head_step;
  float scale;
};

inline __attribute__((always_inline)) float product(const float* q, const float* k, std::int64_t d) {
  HalfLanes sum = {}, other = {};
  for (std::int64_t at = 0; at < d; at += kLanes) {
    HalfLanes a, b, a_next, b_next;
    load(q + at, a), load(k + at, b);
    load(q + at + kHalfLanes, a_next), load(k + at + kHalfLanes, b_next);
    sum += a * b;
    other += a_next * b_next;
  }
  return sum_of(sum + other);
}

/// Position after position, of all heads: one stream through memory.
inline __attribute__((always_inline)) void scores(const Sequence& of) {
  const float* k = of.k;
  for (std::int64_t s = 0; s < of.S; ++s, k += of.k_step) {
    for (std::int64_t head = 0; head < of.heads; ++head)
      of.weights[head * of.S + s] =
          product(of.q + head * of.d, k + of.key_heads[head] * of.k_head_step, of.d) * of.scale;
  }
}

inline __attribute__((always_inline)) void weighted_sums(const Sequence& of) {
  std::fill(of.y, of.y + of.heads * of.d, 0.0F);
  const float* position = of.v;
  for (std::int64_t s = 0; s < of.S; ++s, position += of.v_step) {
    for (std::int64_t head = 0; head < of.heads; ++head) {
      const float weight = of.weights[head * of.S + s];
      const float* v = position + of.key_heads[head] * of.v_head_step;
      float* y = of.y + head * of.d;
      for (std::int64_t at = 0; at < of.d; at += kHalfLanes) {
        HalfLanes sum, b;
        load(y + at, sum), load(v + at, b);
        sum += b * weight;
        store(sum, y + at);
      }
    }
  }
}

void softmax(float* weights, std::int64_t count) {
  const float most = *std::max_element(weights, weights + count);
  double total = 0;
  for (std::int64_t s = 0; s < count; ++s) total += weights[s] = std::exp(weights[s] - most);
  const auto factor = static_cast<float>(1 / total);
  for (std::int64_t s = 0; s < count; ++s) weights[s] *= factor;
}

inline __attribute__((always_inline)) void attend(const Sequence& of) {
  scores(of);
  for (std::int64_t head = 0; head < of.heads; ++head) softmax(of.weights + head * of.S, of.S);
  weighted_sums(of);
}

void attend_plainly(const Sequence& of) { attend(of); }
RIESZ_FOR_AVX2 void attend_by_avx2(const Sequence& of) { attend(of); }
RIESZ_FOR_AVX512 void attend_by_avx512(const Sequence& of) { attend(of); }

at::Tensor in_rows(const at::Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); }

}  // namespace

bool is_row_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return q.size(1) == 1 && q.numel() > 0 && k.numel() > 0 && q.size(3) % kLanes == 0 && plain_floats(q) &&
         plain_floats(k) && plain_floats(v) && !recorded(q, k, v) && at::get_num_threads() == 1 &&
         has_values();
}

at::Tensor row_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const KeyHeads& key_heads, double scale) {
  static const auto kernel = for_this_processor(attend_plainly, attend_by_avx2, attend_by_avx512);
  const at::Tensor queries = q.contiguous(), keys = in_rows(k), values = in_rows(v);
  at::Tensor result = at::empty(queries.sizes(), queries.options());
  const std::int64_t heads = q.size(2), S = k.size(1), d = q.size(3);
  std::vector<float> weights(static_cast<std::size_t>(heads * S));
  std::vector<std::int64_t> used;
  for (std::int64_t head = 0; head < heads; ++head) used.push_back(key_heads.of(head));
  for (std::int64_t b = 0; b < q.size(0); ++b)
    kernel({.q = queries.const_data_ptr<float>() + b * heads * d,
            .k = keys.const_data_ptr<float>() + b * keys.stride(0),
            .v = values.const_data_ptr<float>() + b * values.stride(0),
            .weights = weights.data(),
            .y = result.mutable_data_ptr<float>() + b * heads * d,
            .key_heads = used.data(),
            .heads = heads,
            .S = S,
            .d = d,
            .k_step = keys.stride(1),
            .v_step = values.stride(1),
            .k_head_step = keys.stride(2),
            .v_head_step = values.stride(2),
            .scale = static_cast<float>(scale)});
  return result;
}

}  // namespace riesz::detail
