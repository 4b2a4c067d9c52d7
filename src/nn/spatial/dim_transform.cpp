// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/dim_transform.h"

#include <ATen/ops/_fft_c2c.h>
#include <ATen/ops/_fft_c2r.h>
#include <ATen/ops/_fft_r2c.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/on_device.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz::detail {

DimTransform DimTransform::adjoint() const {
  DimTransform other = *this;
  other.back = !back;
  return other;
}

namespace {

constexpr std::int64_t kUnscaled = 0;  // torch's fft_norm_mode::none

/// The frequencies k = 0 and n/2, the latter where n is even and it is kept.
std::vector<std::int64_t> ends_of(const DimTransform& transform) {
  if (2 * (transform.frequencies - 1) == transform.values) return {0, transform.frequencies - 1};
  return {0};
}

/// z with every frequency k times factor, but k = 0 and n/2.
at::Tensor with_inner_times(const at::Tensor& z, const DimTransform& transform, double factor) {
  const at::Tensor factors = at::ones({transform.frequencies}, at::kDouble).mul(factor);
  for (const std::int64_t k : ends_of(transform)) factors.mutable_data_ptr<double>()[k] = 1;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(z.dim()), 1);
  shape[static_cast<std::size_t>(transform.dim)] = transform.frequencies;
  return z.mul(on_device(factors.view(shape).to(c10::toRealValueType(z.scalar_type())), z.device()));
}

/// Makes the imaginary parts of k = 0 and n/2 zero. They have no effect on real values, but a real transform
/// of a GPU may read them.
void make_ends_real(const at::Tensor& z, const DimTransform& transform) {
  const at::Tensor imaginary = at::view_as_real(z).select(-1, 1);
  for (const std::int64_t k : ends_of(transform)) imaginary.select(transform.dim, k).zero_();
}

/// The lowest frequencies of all.
at::Tensor lowest_of(const at::Tensor& z, const DimTransform& transform) {
  const std::int64_t all = z.size(transform.dim), m = transform.frequencies;
  if (m == all) return z;
  if (transform.real) return z.narrow(transform.dim, 0, m);
  return at::cat({z.narrow(transform.dim, 0, m - m / 2), z.narrow(transform.dim, all - m / 2, m / 2)},
                 transform.dim);
}

/// All frequencies, of which those that are not kept are zero.
at::Tensor among_all(const at::Tensor& z, const DimTransform& transform) {
  const std::int64_t all = transform.real ? transform.values / 2 + 1 : transform.values,
                     m = transform.frequencies;
  if (m == all) return z;
  std::vector<std::int64_t> shape = z.sizes().vec();
  shape[static_cast<std::size_t>(transform.dim)] = all - m;
  const at::Tensor others = at::zeros(shape, z.options());
  if (transform.real) return at::cat({z, others}, transform.dim);
  return at::cat({z.narrow(transform.dim, 0, m - m / 2), others, z.narrow(transform.dim, m - m / 2, m / 2)},
                 transform.dim);
}

at::Tensor frequencies_of(const at::Tensor& x, const DimTransform& transform) {
  const at::Tensor all =
      transform.real ? at::_fft_r2c(x, {transform.dim}, kUnscaled, true)
                     : at::_fft_c2c(at::view_as_complex(x.contiguous()), {transform.dim}, kUnscaled, true);
  at::Tensor z = lowest_of(all, transform);
  if (transform.twice) z = with_inner_times(z, transform, 2);
  return at::view_as_real(transform.scale == 1 ? z : z.mul(transform.scale));
}

/// What a real transform is given, which counts frequencies between 0 and n/2 twice.
at::Tensor for_real_values(const at::Tensor& given, const DimTransform& transform) {
  const at::Tensor z = transform.twice ? given.clone() : with_inner_times(given, transform, 0.5);
  make_ends_real(z, transform);
  return among_all(z, transform);
}

at::Tensor values_of(const at::Tensor& x, const DimTransform& transform) {
  const at::Tensor z = at::view_as_complex(x.contiguous());
  const at::Tensor y =
      transform.real
          ? at::_fft_c2r(for_real_values(z, transform), {transform.dim}, kUnscaled, transform.values)
          : at::view_as_real(at::_fft_c2c(among_all(z, transform), {transform.dim}, kUnscaled, false));
  return transform.scale == 1 ? y : y.mul(transform.scale);
}

std::string text_of(const DimTransform& transform) {
  return concat(" of dim ", transform.dim, transform.real ? ", real, " : ", ", transform.values, " values, ",
                transform.frequencies, transform.twice ? " frequencies counted twice" : " frequencies",
                ", times ", transform.scale);
}

/// The transform as a linear map of this worker's part.
class FourierStep final : public Primitive {
 public:
  FourierStep(const Space& X, const Space& Y, const DimTransform& transform)
      : Primitive(transform.back ? "InverseFourier" : "Fourier", X, Y, {}, text_of(transform)),
        transform_(transform) {}

  at::Tensor apply(const at::Tensor& x) const override {
    if (x.numel() == 0) return at::zeros(range().local_shape(), x.options());
    const at::Tensor full = to_accumulation_type(x);
    return (transform_.back ? values_of(full, transform_) : frequencies_of(full, transform_))
        .to(x.scalar_type());
  }

  Step adjoint() const override {
    return std::make_shared<FourierStep>(dual(range()), dual(domain()), transform_.adjoint());
  }

  Traffic traffic(int) const override { return {}; }
  bool sends() const override { return false; }

 private:
  DimTransform transform_;
};

}  // namespace

Step fourier_step(const Space& X, const Space& Y, const DimTransform& transform) {
  return std::make_shared<FourierStep>(X, Y, transform);
}

}  // namespace riesz::detail
