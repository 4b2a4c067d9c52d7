// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "riesz/primitives/operator.h"

namespace riesz {

/// Where a transform of n values is scaled, as torch's `norm`.
enum class FourierNorm {
  backward,  ///< the inverse by 1/n
  ortho,     ///< both by 1/√n
  forward    ///< the transform by 1/n
};

struct FourierOptions {
  FourierNorm norm = FourierNorm::backward;
  /// Extents of the result along the transformed dims. By default n values have n frequencies. Along the last
  /// dim of a real transform they have n/2 + 1, and the inverse makes 2(m − 1) values of m frequencies. Fewer
  /// frequencies, m, are the lowest: k = 0 … ⌈m/2⌉ − 1, then −⌊m/2⌋ … −1. Along the last dim of a real
  /// transform they are k = 0 … m − 1. A transform drops the others, and an inverse takes them as zero.
  std::vector<std::int64_t> extents = {};
  /// The space of the result. Default: its dims are sharded as those of x.
  std::optional<Space> range = std::nullopt;
};

// Discrete Fourier transforms over any dims, of vectors sharded in any way. A complex vector is a real one
// with a last dim of 2: real and imaginary parts, as torch's view_as_real. So its inner product is the real
// part of the complex one, and all that moves, sums, stores and trains real vectors does so with complex
// ones.
//
//     (F x)_k = c·Σ_j x_j·exp(−2πi·jk/n)        (F⁻¹ z)_j = c'·Σ_k z_k·exp(2πi·jk/n)        c·c' = 1/n
//
// The transforms are linear operators. A dim is transformed where one worker has all of it, and dims that are
// whole come first. Then the axes that shard the others shard another dim instead, if one has elements for
// all workers: two Repartitions. Else each dim is made whole in turn (pencils). Frequencies that are not kept
// are dropped before they move. An inverse goes the same way backwards. Half types are computed in fp32. The
// adjoint is found step by step: that of `fft` by backward norm is `ifft` by forward norm. The adjoint of
// `rfft` is not `irfft`, in which frequencies between 0 and n/2 count twice.
//
// Cost: where another dim has elements for all workers, two Repartitions, in each of which each of p workers
// sends (p − 1)/p of its part. `traffic(rank)` has the exact numbers. A plan is made without communication;
// keep it.
// @throws Error naming the dim and the space where a dim is missing or given twice, where an extent does not
// fit, or where the last dim of a complex vector is not 2 or is sharded.

/// Complex values to complex frequencies, and back. `dims` are positions in X.
Operator fft(const Space& X, const std::vector<int>& dims, const FourierOptions& options = {});
Operator ifft(const Space& X, const std::vector<int>& dims, const FourierOptions& options = {});

/// Real values to half of their complex frequencies: (…, n) → (…, n/2 + 1, 2). The last one of `dims` is
/// halved, for the frequency −k is the conjugate of k.
Operator rfft(const Space& X, const std::vector<int>& dims, const FourierOptions& options = {});
/// Half of the frequencies to real values. It does not read the imaginary parts of the frequencies 0 and n/2.
Operator irfft(const Space& X, const std::vector<int>& dims, const FourierOptions& options = {});

}  // namespace riesz
