// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/one_bit_mean.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/optim/global_sums.h"
#include "riesz/optim/one_bit_pass.h"
#include "riesz/optim/sign_bits.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

constexpr std::int64_t kScale = 8;  // bytes of an fp64 number

/// ‖x‖/√n, in fp64.
at::Tensor mean_size_there(const at::Tensor& x) {
  return sum_of_squares_there(x).div(static_cast<double>(x.numel())).sqrt().view({1});
}

at::Tensor value_of(const OneBitTerm& x) {
  return x.more.defined() ? x.vector.mul(x.keep).add_(x.more, x.scale) : x.vector;
}

void set_signs_here(const at::Tensor& bytes, const at::Tensor& scale, const at::Tensor& x) {
  one_bit_set(bytes, host_value(scale, 0.0), x);
}

void set_signs_there(const at::Tensor& bytes, const at::Tensor& scale, const at::Tensor& x) {
  x.zero_();
  add_signs(bytes, scale, x);
}

/// x ← scale·(the signs).
constexpr Dispatched<void(const at::Tensor&, const at::Tensor&, const at::Tensor&)> set_signs_kernels{
    set_signs_here, set_signs_there};

/// Reads a message from its begin.
class Reader {
 public:
  explicit Reader(at::Tensor message) : message_(std::move(message)) {}
  at::Tensor bytes(std::int64_t n) { return message_.narrow(0, std::exchange(at_, at_ + n), n); }
  at::Tensor number() { return bytes(kScale).clone().view(at::kDouble); }

 private:
  at::Tensor message_;
  std::int64_t at_ = 0;
};

}  // namespace

OneBitMean::OneBitMean(const Partition& fibre, const std::vector<at::TensorOptions>& types,
                       const std::vector<std::int64_t>& sizes)
    : fibre_(fibre.grid({{"fibre", fibre.size()}})), sizes_(sizes) {
  RIESZ_CHECK(fibre.active(), "OneBitMean: of a fibre through another worker, ", to_string(fibre));
  for (std::size_t v = 0; v < sizes.size(); ++v) {
    const bool exact = fibre.size() == 1;
    worker_errors_.push_back(at::zeros({exact ? 0 : sizes[v]}, types[v]));
    server_errors_.push_back(at::zeros({exact ? 0 : elements_of(v, fibre_.rank()).size()}, types[v]));
  }
}

Interval OneBitMean::bytes_of(std::size_t v, int j) const {
  return balanced_interval((sizes_[v] + 7) / 8, fibre_.size(), 1, j);
}

Interval OneBitMean::elements_of(std::size_t v, int j) const {
  const Interval bytes = bytes_of(v, j);
  return {std::min(8 * bytes.begin, sizes_[v]), std::min(8 * bytes.end, sizes_[v])};
}

std::int64_t OneBitMean::message(int j) const {
  std::int64_t sum = 0;
  for (std::size_t v = 0; v < sizes_.size(); ++v) sum += bytes_of(v, j).size() + kScale;
  return sum;
}

OneBitMean::Compressed OneBitMean::compress_here(const OneBitTerm& x, const at::Tensor& error,
                                                 const at::Tensor& finite) {
  if (finite.defined()) return compress_there(x, error, finite);
  const std::int64_t n = error.numel();
  const at::Tensor bytes = at::empty({(n + 7) / 8}, error.options().dtype(at::kByte));
  const at::Tensor more = x.more.defined() ? x.more.to(error.scalar_type()) : x.more;
  const double squares = one_bit_compress(x.vector, x.keep, more, x.scale, error, bytes);
  const double scale = std::sqrt(squares / static_cast<double>(n));
  one_bit_lose(error, scale);
  return {bytes, at::scalar_tensor(scale, at::kDouble).view({1})};
}

OneBitMean::Compressed OneBitMean::compress_there(const OneBitTerm& x, const at::Tensor& error,
                                                  const at::Tensor& finite) {
  const at::Tensor all = value_of(x).add(error);
  Compressed result{pack_signs(all), mean_size_there(all)};
  add_signs(result.bytes, result.scale.neg(), all);
  if (finite.defined()) {
    at::Tensor out = error;
    at::where_out(out, finite, all, error);
  } else {
    error.copy_(all);
  }
  return result;
}

OneBitMean::Compressed OneBitMean::compress(const OneBitTerm& x, const at::Tensor& error,
                                            const at::Tensor& finite) {
  static constexpr Dispatched<Compressed(const OneBitTerm&, const at::Tensor&, const at::Tensor&)> kernels{
      compress_here, compress_there};
  if (error.numel() == 0)
    return {at::empty({0}, error.options().dtype(at::kByte)),
            at::zeros({1}, error.options().dtype(at::kDouble))};
  return kernels(error.device(), x, error, finite);
}

at::Tensor OneBitMean::average(const at::Tensor& received, const at::Tensor& finite) const {
  std::vector<Reader> readers;
  for (int j = 0; j < fibre_.size(); ++j) readers.emplace_back(received.select(0, j));
  std::vector<at::Tensor> sent;
  for (std::size_t v = 0; v < sizes_.size(); ++v) {
    at::Tensor mean = at::zeros(server_errors_[v].sizes(), server_errors_[v].options());
    for (Reader& reader : readers) {
      const at::Tensor bytes = reader.bytes(bytes_of(v, fibre_.rank()).size());
      add_signs(bytes, reader.number().div_(fibre_.size()), mean);
    }
    const Compressed c = compress({mean}, server_errors_[v], finite);
    sent.push_back(c.bytes);
    sent.push_back(c.scale.view(at::kByte));
  }
  return at::cat(sent);
}

void OneBitMean::operator()(const std::vector<at::Tensor>& vectors, const at::Tensor& finite) {
  std::vector<OneBitTerm> terms;
  for (const at::Tensor& vector : vectors) terms.push_back({vector});
  (*this)(terms, finite);
}

void OneBitMean::operator()(const std::vector<OneBitTerm>& terms, const at::Tensor& finite) {
  const at::NoGradGuard no_gradient;
  const int p = fibre_.size();
  if (p == 1) {
    for (const OneBitTerm& x : terms)
      if (x.more.defined()) x.vector.mul_(x.keep).add_(x.more, x.scale);
    return;
  }
  if (terms.empty()) return;
  std::vector<Compressed> mine;
  for (std::size_t v = 0; v < terms.size(); ++v)
    mine.push_back(compress(terms[v], worker_errors_[v], finite));
  std::vector<at::Tensor> sent;
  std::vector<std::int64_t> messages;
  for (int j = 0; j < p; ++j) {
    messages.push_back(message(j));
    for (std::size_t v = 0; v < terms.size(); ++v) {
      const Interval bytes = bytes_of(v, j);
      sent.push_back(mine[v].bytes.narrow(0, bytes.begin, bytes.size()));
      sent.push_back(mine[v].scale.view(at::kByte));
    }
  }
  const Split split = Split::sizes(messages);
  const Space rows = Space(fibre_, {p, split.extent()}).sharded(0, "fibre");
  const Space columns = Space(fibre_, {p, split.extent()}).sharded(1, "fibre", split);
  const at::Tensor received = between(rows, columns)(Vector(rows, at::cat(sent).view({1, -1}))).local();

  const Space whole(fibre_, {split.extent()});
  const Space parts = whole.sharded(0, "fibre", split);
  const at::Tensor all = between(parts, whole)(Vector(parts, average(received, finite))).local();
  Reader reader(all);
  for (int j = 0; j < p; ++j) {
    for (std::size_t v = 0; v < terms.size(); ++v) {
      const at::Tensor& vector = terms[v].vector;
      const at::Tensor bytes = reader.bytes(bytes_of(v, j).size());
      const Interval elements = elements_of(v, j);
      set_signs_kernels(vector.device(), bytes, reader.number(),
                        vector.narrow(0, elements.begin, elements.size()));
    }
  }
}

}  // namespace riesz
