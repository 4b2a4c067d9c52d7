// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "fourier_case.h"

#include <ATen/ops/fft_fftn.h>
#include <ATen/ops/fft_ifftn.h>
#include <ATen/ops/fft_irfftn.h>
#include <ATen/ops/fft_rfftn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "../nn/expect.h"
#include "../nn/program_traffic.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/adjoint.h"

namespace riesz::testing {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Where the m lowest of these frequencies are: those of a whole line, or of the half of a real one.
at::Tensor lowest(std::int64_t all, std::int64_t m, bool half) {
  Numbers places;
  for (std::int64_t k = 0; k < m; ++k) places.push_back(half || 2 * k < m ? k : all - m + k);
  return at::tensor(places, at::kLong);
}

const char* norm_name(FourierNorm norm) {
  constexpr const char* names[] = {"backward", "ortho", "forward"};
  return names[static_cast<int>(norm)];
}

Traffic sent() {
  const Traffic all = program_traffic();
  Counters::instance().reset();
  return {all.elements, 0, all.messages};
}

}  // namespace

Operator FourierCase::transform() const {
  if (real) return back ? irfft(X, dims, options) : rfft(X, dims, options);
  return back ? ifft(X, dims, options) : fft(X, dims, options);
}

std::string to_string(const FourierCase& c) {
  std::string dims;
  for (const int dim : c.dims) dims += " " + std::to_string(dim);
  return concat(c.back ? "inverse, " : "", c.real ? "real, " : "complex, ", norm_name(c.options.norm),
                ", dims", dims, " of ", riesz::to_string(c.X), ", extents ",
                at::IntArrayRef(c.options.extents),
                c.options.range ? " to " + riesz::to_string(*c.options.range) : "");
}

FourierCase random_fourier_case(std::uint64_t seed) {
  RandomSpaces random(seed);
  const std::vector<Placement> kinds{Placement::Replicated, Placement::Copied, Placement::Partial};
  const Partition grid = random.grid(some_workers(random));
  const int count = 1 + random.any_of(3);
  FourierCase c{random.any_of(2) == 0, random.any_of(2) == 0, Space(grid, {}), {}, {}};
  Numbers shape, result;
  for (int dim = 0; dim < count; ++dim) {
    shape.push_back(1 + random.any_of(9));
    if (random.any_of(3) > 0)
      c.dims.insert(c.dims.begin() + random.any_of(static_cast<int>(c.dims.size()) + 1), dim);
  }
  if (c.dims.empty()) c.dims.push_back(count - 1);
  const bool some = random.any_of(2) == 0;
  result = shape;
  for (const int dim : c.dims) {
    const bool half = c.real && dim == c.dims.back();
    const auto at = static_cast<std::size_t>(dim);
    const std::int64_t n = shape[at], all = half ? n / 2 + 1 : n;
    const std::int64_t m = some ? 1 + random.any_of(static_cast<int>(all)) : all;
    (c.back ? shape : result)[at] = m;
    if (some || c.back) c.options.extents.push_back(c.back ? n : m);
  }
  const auto laid = [&](const Numbers& numbers, bool complex) {
    const Space S = random.lay_out(Space(grid, numbers), kinds, true);
    return complex ? insert_dim(S, S.dims(), 2) : S;
  };
  c.options.norm = static_cast<FourierNorm>(random.any_of(3));
  c.X = laid(shape, !c.real || c.back);
  if (random.any_of(2) == 0) c.options.range = laid(result, !c.real || !c.back);
  return c;
}

at::Tensor torch_fourier(const at::Tensor& x, const FourierCase& c, const Numbers& result) {
  at::Tensor z = !c.real || c.back ? at::view_as_complex(x) : x;
  const Numbers dims(c.dims.begin(), c.dims.end());
  Numbers values;
  for (const std::int64_t dim : dims) {
    const std::int64_t n = (c.back ? result : x.sizes().vec())[static_cast<std::size_t>(dim)];
    values.push_back(n);
    if (!c.back) continue;
    const bool half = c.real && dim == dims.back();
    Numbers all = z.sizes().vec();
    all[static_cast<std::size_t>(dim)] = half ? n / 2 + 1 : n;
    z = at::zeros(all, z.options())
            .index_add(dim, lowest(all[static_cast<std::size_t>(dim)], z.size(dim), half), z);
  }
  const char* norm = norm_name(c.options.norm);
  if (c.back)
    return c.real ? at::fft_irfftn(z, values, dims, norm)
                  : at::view_as_real(at::fft_ifftn(z, values, dims, norm));
  z = c.real ? at::fft_rfftn(z, values, dims, norm) : at::fft_fftn(z, values, dims, norm);
  for (const std::int64_t dim : dims) {
    const bool half = c.real && dim == dims.back();
    z = z.index_select(dim, lowest(z.size(dim), result[static_cast<std::size_t>(dim)], half));
  }
  return at::view_as_real(z);
}

void expect_fourier(const FourierCase& c) {
  SCOPED_TRACE(to_string(c));
  const Operator A = c.transform();
  EXPECT_ADJOINT(A);
  const at::Tensor global = draws(c.X.shape(), 1).requires_grad_();
  const at::Tensor expected = torch_fourier(global, c, A.range().shape());
  const at::Tensor ybar = draws(A.range().shape(), 2);
  expected.backward(ybar);
  const Vector x = leaf(c.X, global.detach());
  Chain chain;
  sent();
  const Vector y = A(x);
  const Traffic forward = sent();
  const std::vector<Vector> gradients = pullback(y, distribute(dual(A.range()), ybar), {x});
  const Traffic backward = sent();
  if (const int rank = c.X.partition().rank(); rank >= 0) {
    EXPECT_EQ(forward, A.traffic(rank));
    EXPECT_EQ(backward, adjoint(A).traffic(rank));
  }
  EXPECT_TRUE(means(y, expected.detach()));
  EXPECT_TRUE(means(gradients[0], global.grad()));
}

}  // namespace riesz::testing
