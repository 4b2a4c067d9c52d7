// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/fourier_line.h"

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
#include "riesz/comm/without_values.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz::detail {

FourierLine FourierLine::adjoint() const {
  FourierLine other = *this;
  other.back = !back;
  return other;
}

namespace {

constexpr std::int64_t kUnscaled = 0;  // torch's fft_norm_mode::none

/// The frequencies k = 0 and n/2, the latter where n is even and it is kept.
std::vector<std::int64_t> ends_of(const FourierLine& line) {
  if (2 * (line.frequencies - 1) == line.values) return {0, line.frequencies - 1};
  return {0};
}

/// z with every frequency k times factor, but k = 0 and n/2.
at::Tensor with_inner_times(const at::Tensor& z, const FourierLine& line, double factor) {
  const at::Tensor factors = at::ones({line.frequencies}, at::kDouble).mul(factor);
  for (const std::int64_t k : ends_of(line)) factors.mutable_data_ptr<double>()[k] = 1;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(z.dim()), 1);
  shape[static_cast<std::size_t>(line.dim)] = line.frequencies;
  return z.mul(on_device(factors.view(shape).to(c10::toRealValueType(z.scalar_type())), z.device()));
}

/// Makes the imaginary parts of k = 0 and n/2 zero. They have no effect on real values, but a real transform
/// of a GPU may read them.
void make_ends_real(const at::Tensor& z, const FourierLine& line) {
  const at::Tensor imaginary = at::view_as_real(z).select(-1, 1);
  for (const std::int64_t k : ends_of(line)) imaginary.select(line.dim, k).zero_();
}

/// The lowest frequencies of all.
at::Tensor lowest_of(const at::Tensor& z, const FourierLine& line) {
  const std::int64_t all = z.size(line.dim), m = line.frequencies;
  if (m == all) return z;
  if (line.real) return z.narrow(line.dim, 0, m);
  return at::cat({z.narrow(line.dim, 0, m - m / 2), z.narrow(line.dim, all - m / 2, m / 2)}, line.dim);
}

/// All frequencies, of which those that are not kept are zero.
at::Tensor among_all(const at::Tensor& z, const FourierLine& line) {
  const std::int64_t all = line.real ? line.values / 2 + 1 : line.values, m = line.frequencies;
  if (m == all) return z;
  std::vector<std::int64_t> shape = z.sizes().vec();
  shape[static_cast<std::size_t>(line.dim)] = all - m;
  const at::Tensor others = at::zeros(shape, z.options());
  if (line.real) return at::cat({z, others}, line.dim);
  return at::cat({z.narrow(line.dim, 0, m - m / 2), others, z.narrow(line.dim, m - m / 2, m / 2)}, line.dim);
}

at::Tensor frequencies_of(const at::Tensor& x, const FourierLine& line) {
  const at::Tensor all = line.real
                             ? at::_fft_r2c(x, {line.dim}, kUnscaled, true)
                             : at::_fft_c2c(at::view_as_complex(x.contiguous()), {line.dim}, kUnscaled, true);
  at::Tensor z = lowest_of(all, line);
  if (line.twice) z = with_inner_times(z, line, 2);
  return at::view_as_real(line.scale == 1 ? z : z.mul(line.scale));
}

/// What a real transform is given, which counts frequencies between 0 and n/2 twice.
at::Tensor for_real_values(const at::Tensor& given, const FourierLine& line) {
  const at::Tensor z = line.twice ? given.clone() : with_inner_times(given, line, 0.5);
  make_ends_real(z, line);
  return among_all(z, line);
}

at::Tensor values_of(const at::Tensor& x, const FourierLine& line) {
  const at::Tensor z = at::view_as_complex(x.contiguous());
  const at::Tensor y = line.real
                           ? at::_fft_c2r(for_real_values(z, line), {line.dim}, kUnscaled, line.values)
                           : at::view_as_real(at::_fft_c2c(among_all(z, line), {line.dim}, kUnscaled, false));
  return line.scale == 1 ? y : y.mul(line.scale);
}

std::string text_of_line(const FourierLine& line) {
  return concat(" of dim ", line.dim, line.real ? ", real, " : ", ", line.values, " values, ",
                line.frequencies, line.twice ? " frequencies counted twice" : " frequencies", ", times ",
                line.scale);
}

/// The line as a linear map of this worker's part.
class FourierStep final : public Primitive {
 public:
  FourierStep(const Space& X, const Space& Y, const FourierLine& line)
      : Primitive(line.back ? "InverseFourier" : "Fourier", X, Y, {}, text_of_line(line)), line_(line) {}

  at::Tensor apply(const at::Tensor& x) const override {
    if (x.numel() == 0 || !has_values()) return at::zeros(range().local_shape(), x.options());
    const at::Tensor full = to_accumulation_type(x);
    return (line_.back ? values_of(full, line_) : frequencies_of(full, line_)).to(x.scalar_type());
  }

  Step adjoint() const override {
    return std::make_shared<FourierStep>(dual(range()), dual(domain()), line_.adjoint());
  }

  Traffic traffic(int) const override { return {}; }
  bool sends() const override { return false; }

 private:
  FourierLine line_;
};

}  // namespace

Step fourier_step(const Space& X, const Space& Y, const FourierLine& line) {
  return std::make_shared<FourierStep>(X, Y, line);
}

}  // namespace riesz::detail
