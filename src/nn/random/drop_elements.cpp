// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/drop_elements.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "riesz/nn/kernels/in_threads.h"
#include "riesz/nn/random/dropped_element.h"
#include "riesz/nn/random/global_runs.h"
#include "riesz/nn/random/philox_lanes.h"
#include "riesz/nn/vectors/lanes.h"

namespace riesz::detail {
namespace {

constexpr int kChains = 4;                                 // of rounds, computed side by side
constexpr std::int64_t kLanesOfBlock = 4;                  // draws of a block
constexpr std::int64_t kOfThread = std::int64_t{1} << 14;  // elements that are worth a thread of their own

/// What half types are multiplied in.
template <typename Number>
using Multiplied = std::conditional_t<sizeof(Number) == 2, float, Number>;

template <typename Number>
struct Drop {
  PhiloxStream stream;
  std::uint32_t threshold;
  Multiplied<Number> factor;  // rounded to Number

  inline __attribute__((always_inline)) Number operator()(Number x, std::uint32_t word) const {
    return static_cast<Number>(dropped_number(static_cast<Multiplied<Number>>(x), word, threshold, factor));
  }
};

/// A run of elements whose global indices begin with `first`.
template <typename Number>
struct Run {
  std::int64_t first, count;
  const Number* x;
  Number* y;
};

/// Drops the first of them, as many as one draw is for, and returns their number.
template <typename Words, int chains, typename Number>
inline __attribute__((always_inline)) std::int64_t drop_some(const Drop<Number>& drop,
                                                             const Run<Number>& run) {
  constexpr std::int64_t kDrawn = kWordsDrawn<Words, chains>;
  alignas(64) std::uint32_t words[kDrawn];
  const std::int64_t skipped = run.first % kLanesOfBlock, count = std::min(run.count, kDrawn - skipped);
  draw_words<Words, chains>(drop.stream, static_cast<std::uint64_t>(run.first / kLanesOfBlock), words);
  const Drop<Number> each = drop;  // what y's memory is not
  if (count == kDrawn) {
    for (std::int64_t i = 0; i < kDrawn; ++i) run.y[i] = each(run.x[i], words[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) run.y[i] = each(run.x[i], words[skipped + i]);
  }
  return count;
}

template <typename Words, typename Number>
inline __attribute__((always_inline)) void drop_run(const Drop<Number>& drop, Run<Number> run) {
  while (run.count > 0) {
    const bool few = run.count <= kWordsDrawn<Words, 1>;
    const std::int64_t done = few ? drop_some<Words, 1>(drop, run) : drop_some<Words, kChains>(drop, run);
    run = {run.first + done, run.count - done, run.x + done, run.y + done};
  }
}

template <typename Number>
void drop_plainly(const Drop<Number>& drop, const Run<Number>& run) {
  drop_run<TwoWords>(drop, run);
}
template <typename Number>
RIESZ_FOR_AVX2 void drop_by_avx2(const Drop<Number>& drop, const Run<Number>& run) {
  drop_run<FourWords>(drop, run);
}
template <typename Number>
RIESZ_FOR_AVX512 void drop_by_avx512(const Drop<Number>& drop, const Run<Number>& run) {
  drop_run<EightWords>(drop, run);
}

template <typename Number>
void drop_all(const at::Tensor& x, const DropoutDraws& draws, const at::Tensor& y) {
  static const auto kernel =
      for_this_processor(drop_plainly<Number>, drop_by_avx2<Number>, drop_by_avx512<Number>);
  const auto factor = static_cast<Number>(static_cast<Multiplied<Number>>(draws.factor()));
  const Drop<Number> drop{
      {draws.key, draws.step}, draws.threshold(), static_cast<Multiplied<Number>>(factor)};
  const Number* const from = x.const_data_ptr<Number>();
  Number* const to = y.mutable_data_ptr<Number>();
  const GlobalRuns runs(draws.shape, draws.boxes);
  in_threads((runs.elements() + kOfThread - 1) / kOfThread, [&](std::int64_t begin, std::int64_t end) {
    runs.visit(begin * kOfThread, std::min(runs.elements(), end * kOfThread),
               [&](std::int64_t global, std::int64_t count, std::int64_t local) {
                 kernel(drop, {global, count, from + local, to + local});
               });
  });
}

}  // namespace

bool has_elements_to_drop(const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  const bool number = type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
  return x.is_cpu() && number && !x.is_neg();
}

void drop_elements(const at::Tensor& x, const DropoutDraws& draws, const at::Tensor& y) {
  switch (x.scalar_type()) {
    case at::kDouble:
      return drop_all<double>(x, draws, y);
    case at::kHalf:
      return drop_all<at::Half>(x, draws, y);
    case at::kBFloat16:
      return drop_all<at::BFloat16>(x, draws, y);
    default:
      return drop_all<float>(x, draws, y);
  }
}

}  // namespace riesz::detail
