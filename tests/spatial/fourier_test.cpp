// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Fourier transforms of vectors that lie in any way, and spectral convolutions, against torch's on one
// worker.
#include "riesz/nn/spatial/fourier.h"

#include <ATen/ops/einsum.h>
#include <ATen/ops/fft_irfftn.h>
#include <ATen/ops/fft_rfftn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../nn/expect.h"
#include "fourier_case.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/spatial/spectral_convolution.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(Fourier, IsTorchsInRandomConfigurations) {
  constexpr std::uint64_t kCases = 40;
  for (std::uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_fourier(random_fourier_case(seed));
  }
}

TEST(Fourier, OfTheOnlyDimIsWholeOnEveryWorker) {
  const Space X = Space(Partition::world(), {5}).sharded(0, "world");
  EXPECT_ADJOINT(rfft(X, {0}));
  EXPECT_ADJOINT(irfft(rfft(X, {0}).range(), {0}, {.extents = {5}}));
}

TEST(Fourier, GoesThereAndBack) {
  for_each_grid(Runtime::size(), [](const Partition& grid) {
    Space X(grid, {2, 7, 6, 4});
    constexpr int dims[] = {1, 2, 3};
    for (std::size_t i = 0; i < grid.axes().size(); ++i) X = X.sharded(dims[i], grid.axes()[i].name);
    const Vector x = leaf(X, draws(X.shape(), 1));
    for (const FourierNorm norm : {FourierNorm::backward, FourierNorm::ortho, FourierNorm::forward}) {
      Chain chain;
      const Vector z = rfft(X, {1, 3, 2}, {.norm = norm})(x);
      const Operator back = irfft(z.space(), {1, 3, 2}, {.norm = norm});
      EXPECT_EQ(back.range(), X);
      EXPECT_TRUE(means(back(z), draws(X.shape(), 1)));
    }
  });
}

TEST(Fourier, MovesADimThatIsShardedAndBack) {
  const int p = Runtime::size(), a = p % 2 == 0 ? 2 : 1, b = p / a;
  const Partition line = Partition::world(), mesh = line.grid({{"a", a}, {"b", b}});
  const auto sent = [](const Operator& A) { return A.traffic(0).elements; };
  // rows to channels, of 5 frequencies of 8 columns; back 2p of 4p rows
  const Space X = Space(line, {2, 4 * p, 4 * p, 8}).sharded(2, "world");
  EXPECT_EQ(sent(rfft(X, {2, 3}, {.extents = {2 * p, 5}})),
            2 * 4 * (p - 1) * 4 * 5 * 2 + 2 * 4 * 2 * (p - 1) * 5 * 2);
  EXPECT_EQ(rfft(X, {2, 3}).traffic(0).messages, 2 * (p - 1));
  EXPECT_EQ(sent(rfft(X, {3})), 0);
  // rows and columns together to channels
  const Space both = Space(mesh, {2, p, 2 * p, 2 * p, 2}).sharded(2, "a").sharded(3, "b");
  EXPECT_EQ(sent(fft(both, {2, 3})), 2 * (2 * 1 * 4 * p * p * 2) * (p - 1) / p);
  // in pencils: rows whole, then columns, then both as they were
  const Space pencils = Space(mesh, {2 * p, 2 * p, 2}).sharded(0, "a").sharded(1, "b");
  const std::int64_t mine = 4 * p * p * 2 / p;
  const std::int64_t three = mine * (a - 1) / a + mine * (p - 1) / p + mine * (b - 1) / b;
  EXPECT_EQ(sent(fft(pencils, {0, 1})), a > 1 && b > 1 ? three : 2 * mine * (p - 1) / p);
}

/// Units, splits of one's own and placements of a dim that is not transformed stay as they are, so nothing
/// moves.
TEST(Fourier, LeavesOtherDimsAsTheyLie) {
  const int p = Runtime::size();
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(p), 3);
  sizes.front() += 2;
  const Space X(Partition::world(), {3 * p + 2, 6});
  const Space given = X.sharded(0, "world", Split::sizes(sizes)),
              units = Space(Partition::world(), {4 * p - 2, 6}).unit(0, 2).sharded(0, "world");
  for (const Space& S : {given, units, X.copied("world")}) {
    const Operator A = rfft(S, {1});
    EXPECT_EQ(A.traffic(0).messages, 0) << to_string(S);
    EXPECT_EQ(select_dims(A.range(), {0}), select_dims(S, {0})) << to_string(A.range());
  }
}

TEST(Fourier, ComputesHalfTypesInFp32) {
  const Space X = Space(Partition::world(), {3, 16}).sharded(1, "world");
  const at::Tensor global = draws(X.shape(), 1).to(at::kBFloat16);
  const Vector y = rfft(X, {1})(distribute(X, global));
  ASSERT_EQ(y.local().scalar_type(), at::kBFloat16);
  FourierCase c{true, false, X, {1}, {}};
  EXPECT_TRUE(means(y, torch_fourier(global.to(at::kFloat), c, y.space().shape()).to(at::kBFloat16), 1e-6));
}

/// The greatest imaginary part at k = 0 and n/2 in what LibTorch's transforms to real values are given.
template <typename Run>
double greatest_at_ends(const Run& run) {
  thread_local double greatest = 0;
  greatest = 0;
  const auto begun = [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
    if (std::string(call.name()) != "aten::_fft_c2r") return nullptr;
    const at::Tensor imaginary = at::view_as_real(call.inputs()[0].toTensor()).select(-1, 1);
    const std::int64_t dim = call.inputs()[1].toIntVector()[0], n = call.inputs()[3].toInt();
    for (const std::int64_t k : {std::int64_t{0}, n % 2 == 0 ? n / 2 : 0})
      greatest = std::max(greatest, imaginary.select(dim, k).abs().max().item<double>());
    return nullptr;
  };
  const at::CallbackHandle handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(begun).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  run();
  at::removeCallback(handle);
  return greatest;
}

TEST(Fourier, HidesImaginaryPartsOfRealFrequenciesFromLibTorch) {
  for (const std::int64_t n : {8, 7, 2, 1}) {
    const Space X = Space(Partition::world(), {5, n}).sharded(0, "world");
    const Operator there = rfft(X, {1});
    at::Tensor real = draws(there.range().shape(), 1), other = real.clone();
    for (const std::int64_t k : {std::int64_t{0}, n % 2 == 0 ? n / 2 : 0})
      real.select(2, 1).select(1, k).zero_(), other.select(2, 1).select(1, k).fill_(100);
    for (const Operator& A : {irfft(there.range(), {1}, {.extents = {n}}), adjoint(there)}) {
      const Vector z = distribute(A.domain(), other);
      EXPECT_EQ(greatest_at_ends([&] { A(z); }), 0) << n;
      EXPECT_TRUE(means(A(z), meant(A(distribute(A.domain(), real))), 0)) << n;
      EXPECT_TRUE(means(z, other, 0)) << n;
    }
  }
}

TEST(Fourier, RefusesWhatItCannotTransform) {
  const Partition world = Partition::world();
  const Space X(world, {4, 8}), Z(world, {4, 5, 2});
  EXPECT_ERROR(fft(X, {0}), "a complex vector has a last dim of 2, real and imaginary parts");
  EXPECT_ERROR(ifft(Z, {2}), "ifft: there is no dim 2 to transform in");
  EXPECT_ERROR(rfft(X, {1, 1}), "rfft: dim 1 is named twice");
  EXPECT_ERROR(rfft(X, {1}, {.extents = {6}}), "rfft: 6 frequencies of 8 real values along dim 1 of");
  EXPECT_ERROR(irfft(Z, {1}, {.extents = {7}}), "irfft: 5 frequencies of 7 real values");
  EXPECT_ERROR(rfft(X, {1}, {.range = X}), "the result has the shape [4, 5, 2], and cannot lie in");
  EXPECT_ERROR(rfft(X, {}), "rfft: no dim is named");
}

/// Li's layer, on one worker.
at::Tensor spectral(const at::Tensor& x, const at::Tensor& w, const Numbers& modes) {
  Numbers dims, extents(x.sizes().begin() + 2, x.sizes().end());
  for (std::int64_t dim = 2; dim < x.dim(); ++dim) dims.push_back(dim);
  at::Tensor z = at::fft_rfftn(x, extents, dims);
  Numbers all = z.sizes().vec();
  std::vector<at::Tensor> places;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Numbers low;
    for (std::int64_t k = 0; k < modes[i]; ++k) low.push_back(k);
    if (i + 1 < dims.size())
      for (std::int64_t k = -modes[i]; k < 0; ++k) low.push_back(all[i + 2] + k);
    places.push_back(at::tensor(low, at::kLong));
    z = z.index_select(dims[i], places[i]);
  }
  const std::string k = std::string("klm").substr(0, dims.size());
  z = at::einsum("bc" + k + ",oc" + k + "->bo" + k, {z, at::view_as_complex(w)});
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Numbers shape = z.sizes().vec();
    shape[i + 2] = all[i + 2];
    z = at::zeros(shape, z.options()).index_add(dims[i], places[i], z);
  }
  return at::fft_irfftn(z, extents, dims);
}

Space laid_on(Space S, const std::vector<int>& dims) {
  const std::vector<Axis>& axes = S.partition().axes();
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (dims[i] < S.dims()) S = S.sharded(dims[i], axes[i].name);
  return S;
}

void expect_lis(const Space& X, const Space& Y, const Numbers& shape, const Numbers& modes) {
  SpectralConvolution layer("fno", X, Y, modes);
  layer.initialise(3, at::kDouble);
  SCOPED_TRACE(layer.describe() + to_string(X) + to_string(Y));
  const at::Tensor x_global = draws(shape, 1).requires_grad_(),
                   w_global = draws(layer.weight().space().shape(), 2).requires_grad_();
  const at::Tensor expected = spectral(x_global, w_global, modes), ybar = draws(expected.sizes().vec(), 3);
  expected.backward(ybar);
  const Vector x = leaf(X.with_shape(shape), x_global.detach());
  const Vector w = set(layer.weight(), w_global.detach());
  Chain chain;
  const Vector y = layer(x);
  const std::vector<Vector> gradients = pullback(y, distribute(dual(y.space()), ybar), {x, w});
  EXPECT_TRUE(means(y, expected.detach()));
  EXPECT_TRUE(means(gradients[0], x_global.grad()));
  EXPECT_TRUE(means(gradients[1], w_global.grad()));
}

/// Few modes, and all that there are: then k = n/2 is among those of the last dim, and k = -n/2 among those
/// of another.
TEST(SpectralConvolution, IsLisOnEveryGrid) {
  const std::vector<std::vector<int>> dims{{2, 3, 0}, {1, 2, 3}, {3, 1, 2}, {0, 2, 1}};
  const std::vector<Numbers> few{{2}, {2, 1}, {2, 1, 2}}, all{{4}, {3, 3}, {3, 2, 3}};
  std::size_t i = 0;
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    const std::size_t space = i % 3;
    Numbers any(space + 3, Space::any), out = any, shape{2, 3};
    any[1] = 3, out[1] = 4;
    for (std::size_t d = 0; d <= space; ++d) shape.push_back(Numbers{6, 5, 4}[d]);
    const Space X = laid_on(Space(grid, any), dims[i % 4]), Y = laid_on(Space(grid, out), dims[(i / 2) % 4]);
    ++i;
    expect_lis(X, Y, shape, few[space]);
    expect_lis(X, Y, shape, all[space]);
  });
}

TEST(SpectralConvolution, LeavesItsWeightWhereItsFrequenciesAre) {
  const std::int64_t p = Runtime::size();
  const Space X = Space(Partition::world(), {2, 4 * p, 4 * p, 8}).sharded(2, "world");
  SpectralConvolution layer("fno", X, X, {p, 3});
  EXPECT_EQ(layer.weight().space(),
            Space(Partition::world(), {4 * p, 4 * p, 2 * p, 3, 2}).sharded(2, "world"));
  layer.initialise(3, at::kDouble);
  const Vector x = leaf(X, draws(X.shape(), 1));
  const auto sent = [] {
    const std::int64_t all = Counters::instance().total().elements;
    Counters::instance().reset();
    return all;
  };
  Chain chain;
  sent();
  const Vector y = layer(x);
  const std::int64_t there = 2 * 4 * (p - 1) * 4 * 3 * 2, back = 2 * 4 * 2 * (p - 1) * 3 * 2;
  EXPECT_EQ(sent(), 2 * (there + back));
  pullback(y, distribute(dual(X), draws(X.shape(), 2)), {x});
  EXPECT_EQ(sent(), 2 * (there + back));
}

/// Li's first values: uniform from 0 to 1/(channels in x channels out).
TEST(SpectralConvolution, BeginsAsLis) {
  const Partition world = Partition::world();
  SpectralConvolution layer("fno", Space(world, {2, 3, 8}), Space(world, {2, 5, 8}), {4});
  layer.initialise(3, at::kDouble);
  const at::Tensor w = layer.weight().get().local();
  EXPECT_GE(w.min().item<double>(), 0);
  EXPECT_LE(w.max().item<double>(), 1.0 / 15);
  EXPECT_GT(w.max().item<double>(), 0.9 / 15);
}

TEST(SpectralConvolution, RefusesBadSizes) {
  const Partition world = Partition::world();
  const Space X(world, {2, 3, 8, 8});
  EXPECT_ERROR(SpectralConvolution("fno", X, X, {5, 2}),
               "SpectralConvolution fno: 5 modes in spatial dim 0, which has 8 elements in");
  EXPECT_ERROR(SpectralConvolution("fno", X, X, {2, 6}), "6 modes in spatial dim 1");
  EXPECT_ERROR(SpectralConvolution("fno", X, X, {2, 2, 2}), "modes has 3 numbers for 2 spatial dims");
  EXPECT_ERROR(SpectralConvolution("fno", X, X, {0}), "0 modes in spatial dim 0; there is at least 1");
  EXPECT_ERROR(SpectralConvolution("fno", Space(world, {2, 3}), X, {2}), "1 to 3 spatial dims");
}

}  // namespace
}  // namespace riesz::testing
