// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/pointwise/strips.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>

#include "riesz/comm/without_values.h"
#include "riesz/nn/kernels/in_threads.h"
#include "riesz/nn/pointwise/convert.h"
#include "riesz/nn/pointwise/operands.h"

namespace riesz::detail {

std::int64_t elements_of_part = std::int64_t{1} << 14;

namespace {

constexpr std::int64_t kStrip = 1024;     // elements; the strips of a formula fit the first cache
constexpr std::int64_t kRowsOfSum = 64;   // that are added before the sums are
constexpr std::size_t kMost = 2 * 8 + 1;  // operands

/// Sums of an output that is broadcast, by group of rows, or of all rows.
struct Sums {
  bool by_group = false;
  std::int64_t elements = 0;
  at::Tensor all;  // fp64, (groups, elements)
};

struct Loop {
  std::vector<std::int64_t> sizes;
  std::vector<LoopOperand> in, out;  // out: without data where no gradient is wanted, or with sums
  std::vector<Sums> sums;            // by output; of no elements where it has none
  std::int64_t rows = 1, columns = 1;
  std::int64_t group = 1, block = 1;  // rows and columns of a part

  std::int64_t groups() const { return (rows + group - 1) / group; }
  std::int64_t blocks() const { return (columns + block - 1) / block; }
};

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// Cuts a loop into parts, and makes its sums. No two parts write to one place.
void cut(Loop& loop) {
  loop.columns = loop.sizes.back();
  loop.rows = product(loop.sizes) / loop.columns;
  bool grouped = false, whole_rows = false, alone = false;
  for (std::size_t i = 0; i < loop.sums.size(); ++i) {
    if (loop.sums[i].elements == 0) continue;
    const std::vector<std::int64_t>& strides = loop.out[i].strides;
    const auto spread = std::count(strides.begin(), strides.end() - 1, 0);
    loop.sums[i].by_group = spread == static_cast<std::ptrdiff_t>(strides.size()) - 1;
    grouped = grouped || loop.sums[i].by_group;
    whole_rows = whole_rows || strides.back() == 0;
    alone = alone || (!loop.sums[i].by_group && spread > 0);
  }
  const std::int64_t rows = elements_of_part / loop.columns;
  loop.group = alone ? loop.rows : std::max(rows, grouped ? kRowsOfSum : std::int64_t{1});
  loop.block = alone || whole_rows ? loop.columns : std::min(loop.columns, elements_of_part);
  for (Sums& sums : loop.sums)
    if (sums.elements > 0)
      sums.all = at::zeros({sums.by_group ? loop.groups() : 1, sums.elements}, at::kDouble);
}

template <typename T>
class Part {
 public:
  Part(const Loop& loop, Strip<T> strip, const void* f)
      : loop_(loop),
        strip_(strip),
        f_(f),
        space_(new T[static_cast<std::size_t>(kStrip) * (loop.in.size() + loop.out.size())]) {}

  void run(std::int64_t part) {
    const std::int64_t group = part / loop_.blocks(), block = part % loop_.blocks();
    const std::int64_t end = std::min(loop_.rows, (group + 1) * loop_.group);
    const std::int64_t last = std::min(loop_.columns, (block + 1) * loop_.block);
    for (std::int64_t row = group * loop_.group; row < end; ++row) {
      find(row);
      for (std::int64_t at = block * loop_.block; at < last; at += kStrip)
        strip(group, at, std::min(kStrip, last - at));
    }
  }

 private:
  /// Where a row begins in each operand.
  void find(std::int64_t row) {
    const auto along = [&](const LoopOperand& operand) {
      std::int64_t place = 0, left = row;
      for (std::size_t dim = loop_.sizes.size() - 1; dim-- > 0;) {
        place += left % loop_.sizes[dim] * operand.strides[dim];
        left /= loop_.sizes[dim];
      }
      return place;
    };
    for (std::size_t i = 0; i < loop_.in.size(); ++i) in_[i] = along(loop_.in[i]);
    for (std::size_t i = 0; i < loop_.out.size(); ++i) out_[i] = along(loop_.out[i]);
  }

  T* buffer(std::size_t operand) { return space_.get() + static_cast<std::size_t>(kStrip) * operand; }

  static bool dense(const LoopOperand& operand) {
    return operand.data != nullptr && operand.type == c10::CppTypeToScalarType<T>::value &&
           operand.strides.back() == 1;
  }

  static char* place(const LoopOperand& operand, std::int64_t begin, std::int64_t at) {
    const auto size = static_cast<std::int64_t>(c10::elementSize(operand.type));
    return static_cast<char*>(operand.data) + (begin + at * operand.strides.back()) * size;
  }

  void strip(std::int64_t group, std::int64_t at, std::int64_t n) {
    const T* from[kMost];
    T* to[kMost];
    for (std::size_t i = 0; i < loop_.in.size(); ++i) {
      const LoopOperand& x = loop_.in[i];
      const char* const here = place(x, in_[i], at);
      if (!dense(x)) read_as(x.type, here, x.strides.back(), n, buffer(i));
      from[i] = dense(x) ? reinterpret_cast<const T*>(here) : buffer(i);
    }
    for (std::size_t i = 0; i < loop_.out.size(); ++i) {
      const LoopOperand& y = loop_.out[i];
      const bool wanted = y.data != nullptr || loop_.sums[i].elements > 0;
      to[i] = !wanted    ? nullptr
              : dense(y) ? reinterpret_cast<T*>(place(y, out_[i], at))
                         : buffer(loop_.in.size() + i);
    }
    strip_(f_, from, to, n);
    for (std::size_t i = 0; i < loop_.out.size(); ++i)
      if (to[i] != nullptr && !dense(loop_.out[i])) give(i, group, at, to[i], n);
  }

  void give(std::size_t i, std::int64_t group, std::int64_t at, const T* from, std::int64_t n) {
    const LoopOperand& y = loop_.out[i];
    const Sums& sums = loop_.sums[i];
    if (sums.elements == 0) return write_as(y.type, from, n, place(y, out_[i], at));
    double* const all = sums.all.template mutable_data_ptr<double>() +
                        (sums.by_group ? group * sums.elements : 0) + out_[i] + at * y.strides.back();
    if (y.strides.back() == 1) return add_to(from, n, all);
    if (y.strides.back() == 0)
      *all += std::accumulate(from, from + n, 0.0);
    else
      for (std::int64_t k = 0; k < n; ++k) all[k * y.strides.back()] += static_cast<double>(from[k]);
  }

  const Loop& loop_;
  Strip<T> strip_;
  const void* f_;
  std::unique_ptr<T[]> space_;
  std::int64_t in_[kMost] = {}, out_[kMost] = {};
};

template <typename T>
void run(const Loop& loop, Strip<T> strip, const void* f) {
  in_threads(loop.groups() * loop.blocks(), [&](std::int64_t begin, std::int64_t end) {
    Part<T> part(loop, strip, f);
    for (std::int64_t i = begin; i < end; ++i) part.run(i);
  });
}

LoopOperand operand(const LoopDims& dims, const at::Tensor& x) {
  return {x.scalar_type(), const_cast<void*>(x.const_data_ptr()),
          strides_along(dims, x.sizes(), x.strides())};
}

void join(Loop& loop) {
  std::vector<LoopOperand*> all;
  for (LoopOperand& each : loop.in) all.push_back(&each);
  for (LoopOperand& each : loop.out) all.push_back(&each);
  join_dims(loop.sizes, all);
}

bool in_double(const std::vector<at::Tensor>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const at::Tensor& x) { return x.scalar_type() == at::kDouble; });
}

std::vector<std::int64_t> dense_strides(at::IntArrayRef sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t dim = sizes.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * std::max<std::int64_t>(sizes[dim], 1);
  return strides;
}

/// The sums over groups, in their order.
at::Tensor total(const Sums& sums, const at::Tensor& like) {
  const at::Tensor first = sums.all.select(0, 0);
  for (std::int64_t group = 1; group < sums.all.size(0) && has_values(); ++group)
    add_to(sums.all.const_data_ptr<double>() + group * sums.elements, sums.elements,
           first.mutable_data_ptr<double>());
  return first.to(like.scalar_type()).view(like.sizes()).clone();
}

}  // namespace

bool is_in_memory(const at::Tensor& x) {
  return x.is_cpu() && x.layout() == at::kStrided && is_real_type(x.scalar_type()) && !x.is_neg() &&
         !x.is_conj();
}

at::Tensor strips_of_value(const Formula& formula, const std::vector<at::Tensor>& inputs) {
  const LoopDims dims = loop_dims(inputs[0]);
  at::Tensor y = new_along(dims, inputs[0].options());
  if (y.numel() == 0) return y;
  Loop loop{dims.sizes, {}, {operand(dims, y)}, {Sums{}}};
  for (const at::Tensor& x : inputs) loop.in.push_back(operand(dims, x));
  join(loop);
  cut(loop);
  if (in_double(inputs))
    run(loop, formula.kernels->value_double, formula.f.get());
  else
    run(loop, formula.kernels->value_float, formula.f.get());
  return y;
}

std::vector<at::Tensor> strips_of_gradients(const Formula& formula, const std::vector<at::Tensor>& inputs,
                                            const at::Tensor& ybar, const std::vector<bool>& wanted,
                                            bool reuse_ybar) {
  const LoopDims dims = loop_dims(inputs[0]);
  Loop loop{dims.sizes, {}, {}, std::vector<Sums>(inputs.size())};
  std::vector<at::Tensor> results(inputs.size());
  for (const at::Tensor& x : inputs) loop.in.push_back(operand(dims, x));
  loop.in.push_back(operand(dims, ybar));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& x = inputs[i];
    const bool spread = x.numel() != inputs[0].numel();
    if (wanted[i] && inputs[0].numel() == 0) results[i] = at::zeros(x.sizes(), x.options());
    if (wanted[i] && !spread && inputs[0].numel() > 0) {
      const bool same = x.dim() == inputs[0].dim();
      const bool there = reuse_ybar && same && ybar.is_contiguous() && x.is_contiguous() &&
                         ybar.scalar_type() == x.scalar_type() && ybar.sizes() == x.sizes();
      results[i] = there ? ybar : same ? new_along(dims, x.options()) : at::empty(x.sizes(), x.options());
      reuse_ybar = reuse_ybar && !there;
    }
    if (wanted[i] && spread) loop.sums[i].elements = x.numel();
    loop.out.push_back(results[i].defined()
                           ? operand(dims, results[i])
                           : LoopOperand{x.scalar_type(), nullptr,
                                         strides_along(dims, x.sizes(), dense_strides(x.sizes()))});
  }
  if (inputs[0].numel() == 0) return results;
  join(loop);
  cut(loop);
  if (in_double(inputs))
    run(loop, formula.kernels->gradients_double, formula.f.get());
  else
    run(loop, formula.kernels->gradients_float, formula.f.get());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (loop.sums[i].elements > 0) results[i] = total(loop.sums[i], inputs[i]);
  return results;
}

}  // namespace riesz::detail
