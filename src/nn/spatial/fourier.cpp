// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/fourier.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/spatial/dim_transform.h"
#include "riesz/nn/spatial/pencil.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

using detail::DimTransform;

/// What the transforms of all dims share.
struct TransformKind {
  std::string whose;
  bool real;
  bool back;
};

void check_transformed(const TransformKind& kind, const Space& X, const std::vector<int>& dims) {
  RIESZ_CHECK(X.concrete(), kind.whose, ": x lies in ", to_string(X), "; its dims have a known extent");
  const bool complex = !kind.real || kind.back;
  const int count = X.dims() - (complex ? 1 : 0);
  RIESZ_CHECK(!complex || (X.dims() > 0 && X.shape().back() == 2 && detail::is_whole(X, X.dims() - 1)),
              kind.whose, ": x lies in ", to_string(X),
              "; a complex vector has a last dim of 2, real and imaginary parts, which no axis shards");
  RIESZ_CHECK(!dims.empty(), kind.whose, ": no dim is named");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    RIESZ_CHECK(dims[i] >= 0 && dims[i] < count, kind.whose, ": there is no dim ", dims[i],
                " to transform in ", to_string(X), "; there are ", count);
    RIESZ_CHECK(std::find(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(i), dims[i]) ==
                    dims.begin() + static_cast<std::ptrdiff_t>(i),
                kind.whose, ": dim ", dims[i], " is named twice");
  }
}

double scale_of(FourierNorm norm, bool back, double values) {
  if (norm == FourierNorm::ortho) return 1 / std::sqrt(values);
  return (norm == FourierNorm::backward) == back ? 1 / values : 1;
}

/// One for each dim, in their order.
std::vector<DimTransform> dim_transforms_of(const TransformKind& kind, const Space& X,
                                            const std::vector<int>& dims, const FourierOptions& options) {
  check_transformed(kind, X, dims);
  RIESZ_CHECK(options.extents.empty() || options.extents.size() == dims.size(), kind.whose, ": ",
              options.extents.size(), " extents for ", dims.size(), " dims");
  std::vector<DimTransform> transforms;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t given = X.shape()[static_cast<std::size_t>(dims[i])];
    const bool real = kind.real && i + 1 == dims.size();
    const std::int64_t usual = !real ? given : kind.back ? 2 * (given - 1) : given / 2 + 1;
    const std::int64_t made = options.extents.empty() ? usual : options.extents[i];
    const std::int64_t n = kind.back ? made : given, m = kind.back ? given : made;
    RIESZ_CHECK(n >= 1 && m >= 1 && m <= (real ? n / 2 + 1 : n), kind.whose, ": ", m, " frequencies of ", n,
                real ? " real values" : " values", " along dim ", dims[i], " of ", to_string(X),
                "; there are 1 to ", real ? n / 2 + 1 : n);
    transforms.push_back({dims[i], n, m, real, real && kind.back, kind.back,
                          scale_of(options.norm, kind.back, static_cast<double>(n))});
  }
  return transforms;
}

/// A step of the plan from values to frequencies: a dim's transform, or where there is none a move.
struct PlanStep {
  Space from, to;
  std::optional<DimTransform> transform;
};

/// May this one of the remaining transforms be next? A real one is the first.
bool may_be_next(const DimTransform& one, const std::vector<DimTransform>& remaining) {
  return one.real ||
         std::none_of(remaining.begin(), remaining.end(), [](const DimTransform& t) { return t.real; });
}

/// After a dim's transform from S.
Space transformed(const Space& S, const DimTransform& one) {
  std::vector<std::int64_t> shape = S.shape();
  shape[static_cast<std::size_t>(one.dim)] = one.frequencies;
  if (one.real) shape.push_back(2);
  return detail::reshaped_like(S, shape);
}

/// The next step from `at`: the transform of a dim that is whole, else a move that makes one whole.
PlanStep next_step(std::vector<DimTransform>& remaining, const Space& at, int candidates) {
  std::vector<int> dims;
  std::optional<int> first;
  for (auto one = remaining.begin(); one != remaining.end(); ++one) {
    dims.push_back(one->dim);
    if (!may_be_next(*one, remaining)) continue;
    if (!first) first = one->dim;
    if (!detail::is_whole(at, one->dim)) continue;
    PlanStep step{at, transformed(at, *one), *one};
    remaining.erase(one);
    return step;
  }
  return {at, detail::with_whole(at, dims, *first, candidates), std::nullopt};
}

/// The other end's space. `X`: values, or of an inverse frequencies.
Space range_of(const TransformKind& kind, const Space& X, const std::vector<DimTransform>& transforms,
               const std::optional<Space>& given) {
  std::vector<std::int64_t> shape = X.shape();
  for (const DimTransform& one : transforms)
    shape[static_cast<std::size_t>(one.dim)] = kind.back ? one.values : one.frequencies;
  if (kind.real && kind.back) shape.pop_back();
  if (kind.real && !kind.back) shape.push_back(2);
  const Space Y = given ? *given : detail::reshaped_like(X, shape);
  RIESZ_CHECK(Y.shape() == shape, kind.whose, ": from ", to_string(X), " the result has the shape ",
              at::IntArrayRef(shape), ", and cannot lie in ", to_string(Y));
  return Y;
}

void append(std::vector<Step>& steps, const Operator& A) {
  steps.insert(steps.end(), A.steps().begin(), A.steps().end());
}

/// An inverse goes the way of its transform backwards.
Operator transform(const TransformKind& kind, const Space& X, const std::vector<int>& dims,
                   const FourierOptions& options) {
  std::vector<DimTransform> remaining = dim_transforms_of(kind, X, dims, options);
  const Space Y = range_of(kind, X, remaining, options.range);
  const Space &values = kind.back ? Y : X, &frequencies = kind.back ? X : Y;
  const int candidates = values.dims() - (kind.real ? 0 : 1);
  std::vector<PlanStep> plan;
  while (!remaining.empty())
    plan.push_back(next_step(remaining, plan.empty() ? values : plan.back().to, candidates));
  plan.push_back({plan.back().to, frequencies, std::nullopt});
  if (kind.back) std::reverse(plan.begin(), plan.end());
  std::vector<Step> steps;
  for (const PlanStep& each : plan) {
    const Space &from = kind.back ? each.to : each.from, &to = kind.back ? each.from : each.to;
    if (each.transform)
      steps.push_back(detail::fourier_step(from, to, *each.transform));
    else
      append(steps, between(from, to));
  }
  return {X, Y, std::move(steps)};
}

}  // namespace

Operator fft(const Space& X, const std::vector<int>& dims, const FourierOptions& options) {
  return transform({"fft", false, false}, X, dims, options);
}

Operator ifft(const Space& X, const std::vector<int>& dims, const FourierOptions& options) {
  return transform({"ifft", false, true}, X, dims, options);
}

Operator rfft(const Space& X, const std::vector<int>& dims, const FourierOptions& options) {
  return transform({"rfft", true, false}, X, dims, options);
}

Operator irfft(const Space& X, const std::vector<int>& dims, const FourierOptions& options) {
  return transform({"irfft", true, true}, X, dims, options);
}

}  // namespace riesz
