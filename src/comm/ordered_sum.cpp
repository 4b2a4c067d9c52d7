// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/ordered_sum.h"

#include <ATen/ops/add.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "riesz/comm/sum_kernels.h"

namespace riesz {
namespace {

constexpr std::size_t kSequential = 32;
constexpr std::int64_t kBlock = 2048;  // elements: with its terms in the first cache
using kernels::kPastTheCaches;

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
    alignas(64) A room[kBlock];
    if (end - begin > kSequential) {
      const std::size_t middle = begin + (end - begin) / 2;
      sum(begin, middle, at, count, out);
      sum(middle, end, at, count, room);
      kernels::add(out, room, out, count);
      return;
    }
    const A* so_far = widened(term(begin) + at, out, count);
    for (std::size_t i = begin + 1; i < end; ++i) {
      kernels::add(so_far, widened(term(i) + at, room, count), out, count);
      so_far = out;
    }
    if (so_far != out)
      std::memcpy(out, so_far, static_cast<std::size_t>(count) * sizeof(A));  // a single term
  }

  const T* term(std::size_t i) const { return reinterpret_cast<const T*>(terms_[i]); }

  const std::vector<const std::byte*>& terms_;
};

template <typename T>
void sum_into(const std::vector<const std::byte*>& terms, const std::vector<std::byte*>& outs,
              std::int64_t count, bool add) {
  using A = Wide<T>;
  alignas(64) A wide[kBlock];
  alignas(64) A room[kBlock];
  alignas(64) T narrow[kBlock];
  const bool large = count * static_cast<std::int64_t>(sizeof(T)) >= kPastTheCaches;
  BlockSum<T> blocks(terms);
  for (std::int64_t at = 0; at < count; at += kBlock) {
    const std::int64_t n = std::min(kBlock, count - at);
    const auto bytes = static_cast<std::size_t>(n) * sizeof(T);
    blocks.sum(at, n, wide);
    const void* sum = wide;
    if constexpr (!kWide<T>) {
      BlockSum<T>::narrow(wide, narrow, n);
      sum = narrow;
    }
    for (std::byte* out : outs) {
      auto* place = reinterpret_cast<T*>(out) + at;
      if (add) {
        const A* before = BlockSum<T>::widened(place, room, n);
        const A* more = BlockSum<T>::widened(static_cast<const T*>(sum), wide, n);
        kernels::add(before, more, room, n);
        BlockSum<T>::narrow(room, place, n);
      } else if (large) {
        kernels::stream(reinterpret_cast<std::byte*>(place), static_cast<const std::byte*>(sum), bytes);
      } else {
        std::memcpy(place, sum, bytes);
      }
    }
  }
  if (large) kernels::finish_streams();
}

bool has_kernel(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kBFloat16 || type == at::kHalf;
}

bool plain(const at::Tensor& x) { return x.is_cpu() && x.is_contiguous(); }

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

}  // namespace

at::ScalarType accumulation_type(at::ScalarType type) {
  return type == at::kBFloat16 || type == at::kHalf ? at::kFloat : type;
}

at::Tensor ordered_sum(const std::vector<at::Tensor>& terms) {
  const at::Tensor& first = terms.front();
  if (terms.size() == 1) return first;
  if (!has_kernel(first.scalar_type()) || !std::all_of(terms.begin(), terms.end(), plain))
    return sum_of(terms, 0, terms.size()).to(first.scalar_type());
  at::Tensor sum = at::empty_like(first);
  ordered_sum_to(terms, sum);
  return sum;
}

void ordered_sum_to(const std::vector<at::Tensor>& terms, const at::Tensor& y) {
  if (!has_kernel(y.scalar_type()) || !plain(y) || !std::all_of(terms.begin(), terms.end(), plain)) {
    y.copy_(ordered_sum(terms));
    return;
  }
  std::vector<const std::byte*> places;
  for (const at::Tensor& term : terms) places.push_back(static_cast<const std::byte*>(term.const_data_ptr()));
  ordered_sum_into(places, {static_cast<std::byte*>(y.mutable_data_ptr())}, y.numel(), y.scalar_type(),
                   false);
}

void ordered_sum_into(const std::vector<const std::byte*>& terms, const std::vector<std::byte*>& outs,
                      std::int64_t count, at::ScalarType type, bool add) {
  if (count == 0) return;
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
  if (to == from) return;
  if (bytes < kPastTheCaches) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  kernels::stream(to, from, static_cast<std::size_t>(bytes));
  kernels::finish_streams();
}

}  // namespace riesz
