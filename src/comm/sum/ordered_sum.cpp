// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/sum/ordered_sum.h"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "riesz/comm/resolved.h"
#include "riesz/comm/sum/kernels.h"
#include "riesz/comm/sum/sum_there.h"
#include "riesz/comm/without_values.h"

namespace riesz {
namespace {

constexpr std::size_t kSequential = 32;
constexpr std::int64_t kBlock = 2048;  // elements: with its terms in the first cache
using kernels::kNontemporalFrom;

at::Tensor widened(const at::Tensor& x) { return x.to(accumulation_type(x.scalar_type())); }

at::Tensor sum_of(const std::vector<at::Tensor>& terms, std::size_t begin, std::size_t end) {
  if (end - begin > kSequential) {
    const std::size_t middle = begin + (end - begin) / 2;
    return at::add(sum_of(terms, begin, middle), sum_of(terms, middle, end));
  }
  at::Tensor sum = widened(terms[begin]);
  for (std::size_t i = begin + 1; i < end; ++i) {
    if (i == begin + 1) {
      sum = at::add(sum, widened(terms[i]));
    } else {
      sum.add_(terms[i]);
    }
  }
  return sum;
}

template <typename T>
constexpr bool kWide = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <typename T>
using Wide = std::conditional_t<kWide<T>, T, float>;

/// One block of terms of type T, from element `at` on.
template <typename T>
class BlockSum {
 public:
  using A = Wide<T>;

  explicit BlockSum(const std::vector<const std::byte*>& terms) : terms_(terms) {}

  void sum(std::int64_t at, std::int64_t count, A* out) { sum(0, terms_.size(), at, count, out); }

  /// Straight to where it goes, of at least two terms.
  void sum(std::int64_t at, std::int64_t count, std::span<std::byte* const> outs, bool past) {
    alignas(64) A left[kBlock];
    alignas(64) A right[kBlock];
    const auto [a, b] = addends(0, terms_.size(), at, count, left, right);
    kernels::add(a, b, outs, at, count, past);
  }

  static void narrow(A* x, T* out, std::int64_t count) {
    if constexpr (kWide<T>)
      std::memcpy(out, x, static_cast<std::size_t>(count) * sizeof(T));
    else
      kernels::narrow(x, out, count);
  }

  /// x, in the wider type; `room` if it has to be made.
  static const A* widened(const T* x, A* room, std::int64_t count) {
    if constexpr (kWide<T>) {
      return x;
    } else {
      kernels::widen(x, room, count);
      return room;
    }
  }

 private:
  void sum(std::size_t begin, std::size_t end, std::int64_t at, std::int64_t count, A* out) {
    if (end - begin == 1) {
      const A* single = widened(term(begin) + at, out, count);
      if (single != out) std::memcpy(out, single, static_cast<std::size_t>(count) * sizeof(A));
      return;
    }
    alignas(64) A room[kBlock];
    const auto [a, b] = addends(begin, end, at, count, out, room);
    kernels::add(a, b, out, count);
  }

  /// The two whose sum is that of these terms.
  std::pair<const A*, const A*> addends(std::size_t begin, std::size_t end, std::int64_t at,
                                        std::int64_t count, A* left, A* right) {
    if (end - begin > kSequential) {
      const std::size_t middle = begin + (end - begin) / 2;
      sum(begin, middle, at, count, left);
      sum(middle, end, at, count, right);
      return {left, right};
    }
    const A* so_far = widened(term(begin) + at, left, count);
    for (std::size_t i = begin + 1; i + 1 < end; ++i) {
      kernels::add(so_far, widened(term(i) + at, right, count), left, count);
      so_far = left;
    }
    return {so_far, widened(term(end - 1) + at, right, count)};
  }

  const T* term(std::size_t i) const { return reinterpret_cast<const T*>(terms_[i]); }

  const std::vector<const std::byte*>& terms_;
};

template <typename T>
void add_sum(const std::vector<const std::byte*>& terms, const std::vector<std::byte*>& outs,
             std::int64_t count) {
  using A = Wide<T>;
  alignas(64) A wide[kBlock];
  alignas(64) A room[kBlock];
  alignas(64) T sum[kBlock];
  BlockSum<T> blocks(terms);
  for (std::int64_t at = 0; at < count; at += kBlock) {
    const std::int64_t n = std::min(kBlock, count - at);
    blocks.sum(at, n, wide);
    BlockSum<T>::narrow(wide, sum, n);
    for (std::byte* out : outs) {
      auto* place = reinterpret_cast<T*>(out) + at;
      const A* before = BlockSum<T>::widened(place, room, n);
      const A* more = BlockSum<T>::widened(sum, wide, n);
      kernels::add(before, more, room, n);
      BlockSum<T>::narrow(room, place, n);
    }
  }
}

/// Of a type that sums in itself.
template <typename T>
void wide_sum(const std::vector<const std::byte*>& terms, const std::vector<std::byte*>& outs,
              std::int64_t count, bool past) {
  BlockSum<T> blocks(terms);
  for (std::int64_t at = 0; at < count; at += kBlock)
    blocks.sum(at, std::min(kBlock, count - at), outs, past);
}

template <typename T>
void narrow_sum(const std::vector<const std::byte*>& terms, const std::vector<std::byte*>& outs,
                std::int64_t count, bool past) {
  alignas(64) Wide<T> wide[kBlock];
  alignas(64) T sum[kBlock];
  BlockSum<T> blocks(terms);
  for (std::int64_t at = 0; at < count; at += kBlock) {
    const std::int64_t n = std::min(kBlock, count - at);
    const auto bytes = static_cast<std::size_t>(n) * sizeof(T);
    blocks.sum(at, n, wide);
    BlockSum<T>::narrow(wide, sum, n);
    for (std::byte* out : outs) {
      std::byte* place = out + at * static_cast<std::int64_t>(sizeof(T));
      if (past)
        kernels::copy_nontemporal(place, reinterpret_cast<const std::byte*>(sum), bytes);
      else
        std::memcpy(place, sum, bytes);
    }
  }
}

template <typename T>
void sum_into(const std::vector<const std::byte*>& terms, const std::vector<std::byte*>& outs,
              std::int64_t count, bool add) {
  if (add) return add_sum<T>(terms, outs, count);
  const bool past = count * static_cast<std::int64_t>(sizeof(T)) >= kNontemporalFrom;
  if constexpr (kWide<T>)
    wide_sum<T>(terms, outs, count, past);
  else
    narrow_sum<T>(terms, outs, count, past);
  if (past) kernels::fence_nontemporal();
}

bool has_kernel(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kBFloat16 || type == at::kHalf;
}

/// A type without a kernel.
void sum_tensors_into(const std::vector<const std::byte*>& terms, const std::vector<std::byte*>& outs,
                      std::int64_t count, at::ScalarType type, bool add) {
  const auto at_place = [&](const std::byte* place) {
    return at::from_blob(const_cast<std::byte*>(place), {count}, at::TensorOptions().dtype(type));
  };
  std::vector<at::Tensor> tensors;
  for (const std::byte* term : terms) tensors.push_back(at_place(term));
  const at::Tensor sum = ordered_sum(tensors).clone();
  for (std::byte* out : outs) {
    if (add)
      at_place(out).add_(sum);
    else
      at_place(out).copy_(sum);
  }
}

at::Tensor sum_by_operators(const std::vector<at::Tensor>& terms) {
  return sum_of(terms, 0, terms.size()).to(terms.front().scalar_type());
}

void sum_to_in_memory(const std::vector<at::Tensor>& terms, const at::Tensor& y) {
  if (!has_kernel(y.scalar_type()) || !is_plain(y) || !std::all_of(terms.begin(), terms.end(), is_plain)) {
    y.copy_(ordered_sum(terms));
    return;
  }
  std::vector<const std::byte*> places;
  for (const at::Tensor& term : terms) places.push_back(static_cast<const std::byte*>(term.const_data_ptr()));
  ordered_sum_into(places, {static_cast<std::byte*>(y.mutable_data_ptr())}, y.numel(), y.scalar_type(),
                   false);
}

at::Tensor sum_in_memory(const std::vector<at::Tensor>& terms) {
  const at::Tensor& first = terms.front();
  if (!has_kernel(first.scalar_type()) || !std::all_of(terms.begin(), terms.end(), is_plain))
    return sum_by_operators(terms);
  at::Tensor sum = at::empty(first.sizes(), first.options());
  sum_to_in_memory(terms, sum);
  return sum;
}

void sum_to_elsewhere(const std::vector<at::Tensor>& terms, const at::Tensor& y) {
  if (has_sum_there(terms, y))
    sum_there(terms, y);
  else
    y.copy_(ordered_sum(terms));
}

at::Tensor sum_elsewhere(const std::vector<at::Tensor>& terms) {
  const at::Tensor& first = terms.front();
  if (!has_sum_there(terms, first)) return sum_by_operators(terms);
  at::Tensor sum = at::empty(first.sizes(), first.options());
  sum_there(terms, sum);
  return sum;
}

}  // namespace

bool sums_at_any_address(at::ScalarType type) { return has_kernel(type); }

at::ScalarType accumulation_type(at::ScalarType type) {
  return type == at::kBFloat16 || type == at::kHalf ? at::kFloat : type;
}

Dispatched<at::Tensor(const std::vector<at::Tensor>&)> ordered_sum_kernels{sum_in_memory, sum_elsewhere};
Dispatched<void(const std::vector<at::Tensor>&, const at::Tensor&)> ordered_sum_to_kernels{sum_to_in_memory,
                                                                                           sum_to_elsewhere};

at::Tensor ordered_sum(const std::vector<at::Tensor>& terms) {
  if (terms.size() == 1) return terms.front();
  return ordered_sum_kernels(terms.front().device(), terms);
}

void ordered_sum_to(const std::vector<at::Tensor>& terms, const at::Tensor& y) {
  ordered_sum_to_kernels(y.device(), terms, y);
}

void ordered_sum_into(const std::vector<const std::byte*>& terms, const std::vector<std::byte*>& outs,
                      std::int64_t count, at::ScalarType type, bool add) {
  if (count == 0 || !has_values()) return;
  if (terms.size() == 1 && !add) {
    const std::int64_t bytes = count * static_cast<std::int64_t>(at::elementSize(type));
    for (std::byte* out : outs) copy_bytes(out, terms.front(), bytes);
    return;
  }
  switch (type) {
    case at::kFloat:
      return sum_into<float>(terms, outs, count, add);
    case at::kDouble:
      return sum_into<double>(terms, outs, count, add);
    case at::kBFloat16:
      return sum_into<kernels::BFloat16>(terms, outs, count, add);
    case at::kHalf:
      return sum_into<kernels::Half>(terms, outs, count, add);
    default:
      return sum_tensors_into(terms, outs, count, type, add);
  }
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (to == from || bytes == 0 || !has_values()) return;
  if (bytes < kNontemporalFrom) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  kernels::copy_nontemporal(to, from, static_cast<std::size_t>(bytes));
  kernels::fence_nontemporal();
}

}  // namespace riesz
