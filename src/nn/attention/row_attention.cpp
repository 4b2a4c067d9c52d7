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

/// Of one sequence, query heads that share a key head: q and y in rows of d, k and v in rows of d that lie a
/// step apart. `weights` has room for S a query head.
struct SharedHead {
  const float *q, *k, *v;
  float *weights, *y;
  std::int64_t heads, S, d, k_step, v_step;
  float scale;
};

inline __attribute__((always_inline)) void scores(const SharedHead& of) {
  const float* k = of.k;
  for (std::int64_t s = 0; s < of.S; ++s, k += of.k_step) {
    for (std::int64_t head = 0; head < of.heads; ++head) {
      Lanes sum = {};
      for (std::int64_t at = 0; at < of.d; at += kLanes) {
        Lanes a, b;
        load(of.q + head * of.d + at, a);
        load(k + at, b);
        sum += a * b;
      }
      of.weights[head * of.S + s] = sum_of(sum) * of.scale;
    }
  }
}

inline __attribute__((always_inline)) void weighted_sums(const SharedHead& of) {
  std::fill(of.y, of.y + of.heads * of.d, 0.0F);
  const float* v = of.v;
  for (std::int64_t s = 0; s < of.S; ++s, v += of.v_step) {
    for (std::int64_t head = 0; head < of.heads; ++head) {
      float* y = of.y + head * of.d;
      for (std::int64_t at = 0; at < of.d; at += kLanes) {
        Lanes sum, b;
        load(y + at, sum);
        load(v + at, b);
        sum += b * of.weights[head * of.S + s];
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

inline __attribute__((always_inline)) void attend(const SharedHead& of) {
  scores(of);
  for (std::int64_t head = 0; head < of.heads; ++head) softmax(of.weights + head * of.S, of.S);
  weighted_sums(of);
}

void attend_plainly(const SharedHead& of) { attend(of); }
RIESZ_FOR_AVX512 void attend_by_avx512(const SharedHead& of) { attend(of); }

/// The first query head after `head` that uses another key head.
std::int64_t end_of_shared(const KeyHeads& key_heads, std::int64_t head, std::int64_t heads) {
  std::int64_t end = head + 1;
  while (end < heads && key_heads.of(end) == key_heads.of(head)) ++end;
  return end;
}

at::Tensor in_rows(const at::Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); }

}  // namespace

bool is_row_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return q.size(1) == 1 && q.numel() > 0 && k.numel() > 0 && q.size(3) % kLanes == 0 && plain_floats(q) &&
         plain_floats(k) && plain_floats(v) && !recorded(q, k, v) && at::get_num_threads() == 1;
}

at::Tensor row_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const KeyHeads& key_heads, double scale) {
  // For AVX2, g++ 12 makes one that is slower than the plain one.
  static const auto kernel = for_this_processor(attend_plainly, attend_plainly, attend_by_avx512);
  const at::Tensor queries = q.contiguous(), keys = in_rows(k), values = in_rows(v);
  at::Tensor result = at::empty(queries.sizes(), queries.options());
  const std::int64_t heads = q.size(2), S = k.size(1), d = q.size(3);
  std::vector<float> weights(static_cast<std::size_t>(heads * S));
  for (std::int64_t b = 0; b < q.size(0); ++b) {
    for (std::int64_t head = 0; head < heads;) {
      const std::int64_t end = end_of_shared(key_heads, head, heads), key_head = key_heads.of(head);
      const std::int64_t row = (b * heads + head) * d;
      kernel({.q = queries.const_data_ptr<float>() + row,
              .k = keys.const_data_ptr<float>() + b * keys.stride(0) + key_head * keys.stride(2),
              .v = values.const_data_ptr<float>() + b * values.stride(0) + key_head * values.stride(2),
              .weights = weights.data(),
              .y = result.mutable_data_ptr<float>() + row,
              .heads = end - head,
              .S = S,
              .d = d,
              .k_step = keys.stride(1),
              .v_step = values.stride(1),
              .scale = static_cast<float>(scale)});
      head = end;
    }
  }
  return result;
}

}  // namespace riesz::detail
