// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "layer_runs.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/on_device.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/nn/context.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/experts/experts.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/loss/shares.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/spatial/adaptive_pool.h"
#include "riesz/nn/spatial/batch_norm.h"
#include "riesz/nn/spatial/conv.h"
#include "riesz/nn/spatial/conv_transpose.h"
#include "riesz/nn/spatial/fourier.h"
#include "riesz/nn/spatial/group_norm.h"
#include "riesz/nn/spatial/instance_norm.h"
#include "riesz/nn/spatial/pad.h"
#include "riesz/nn/spatial/pool.h"
#include "riesz/nn/spatial/spectral_convolution.h"
#include "riesz/nn/spatial/upsample.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

Vector leaf_on(const Space& X, std::uint64_t seed, at::Device device) {
  return {X, random_vector(X, seed, true).local().to(device).requires_grad_()};
}

std::vector<at::Tensor> value_and_gradients(const std::function<Vector()>& f,
                                            const std::vector<Vector>& inputs) {
  Chain chain;
  const Vector y = f();
  const Space Y = dual(y.space());
  const Vector ybar(Y, on_device(random_vector(Y, 9, true).local(), y.local().device()));
  std::vector<at::Tensor> results{y.local().detach()};
  for (const Vector& gradient : pullback(y, ybar, inputs)) results.push_back(gradient.local());
  return results;
}

/// The value of f, and the gradients of all it is given, as leaves or parameters. The second time, when
/// nothing is new, nothing is read.
std::vector<at::Tensor> with_gradients(const std::function<Vector()>& f, std::vector<Vector> inputs,
                                       const std::vector<Parameter>& parameters = {}) {
  for (const Parameter& parameter : parameters)
    if (parameter.trained()) inputs.push_back(parameter.value());
  std::vector<at::Tensor> results = value_and_gradients(f, inputs);
  if (results.front().is_cpu()) return results;
  const HostReadsHere reads;
  results = value_and_gradients(f, inputs);
  for (const auto& [what, times] : reads.seen()) throw_error(concat(what, ", ", times, " times"));
  return results;
}

/// Of a layer of one input.
template <typename MakeLayer>
Run run_of(const Space& S, const MakeLayer& make) {
  return [=](at::Device device) {
    auto layer = make();
    layer.initialise(3, at::kDouble, device);
    const Vector x = leaf_on(S, 1, device);
    return with_gradients([&] { return layer(x); }, {x}, layer.parameters());
  };
}

std::vector<at::Tensor> deferred(at::Device device) {
  const Space X = Space(row(), {5, 7}).sharded(0, "a"), W = Space(row(), {7, 6});
  Linear linear("linear", "bi,io->bo", X, W, X.with_shape({5, 6}), {.bias = false});
  linear.initialise(3, at::kDouble, device);
  DeferredGradients later;
  Chain chain;
  const Vector y = linear(leaf_on(X, 1, device));
  backward(detail::add_shares(y.space(), {}, y.local().square().sum()));
  later.compute();
  return {linear.parameters()[0].gradient().local()};
}

std::vector<at::Tensor> embedded(const Space& table, at::ScalarType type, at::Device device) {
  const Space ids(row(), {5, 3});
  Embedding embedding("table", ids, table, Space(row(), {5, 3, 4}));
  embedding.initialise(3, type, device);
  const Vector x(ids, at::arange(15, at::device(device).dtype(at::kLong)).remainder(11).view({5, 3}));
  return with_gradients([&] { return embedding(x); }, {}, embedding.parameters());
}

std::vector<at::Tensor> activated(const Space& S, at::Device device) {
  const Dropout drop("drop", 0.25);
  const ContextScope context({.training = true, .seed = 5, .step = 2});
  const Vector x = leaf_on(S, 1, device);
  const auto formula = [](auto a, auto b) { return where(a < b, tanh(a), max(a, b) / (1.0 + exp(-b))); };
  return with_gradients(
      [&] {
        const Vector y = drop.forward(silu(gelu(gelu_exact(relu(x)))));
        return gated("silu", pointwise("formula", formula, y, x), y);
      },
      {x});
}

/// What attention sees.
struct Sight {
  std::string name;
  AttentionOptions options = {};
  bool added = false, hidden = false, seen = false, dropped = false;
};

std::vector<at::Tensor> attended(const Space& S, const Sight& sight, at::Device device) {
  const Space M(row(), {7, 7}), keys(row(), {2, 7});
  const Dropout drop("attention_drop", 0.25);
  const ContextScope context({.training = true, .seed = 5, .step = 2});
  const Vector q = leaf_on(S, 1, device), k = leaf_on(S, 2, device), v = leaf_on(S, 3, device);
  std::vector<Vector> inputs{q, k, v};
  AttentionOptions options = sight.options;
  if (sight.added) {
    inputs.push_back(leaf_on(M, 4, device));
    options.mask = inputs.back();
  }
  if (sight.hidden) options.mask = Vector(M, random_vector(M, 4).local().gt(-1).to(device));
  if (sight.seen) options.seen = Vector(keys, random_vector(keys, 4).local().gt(-1).to(device));
  if (sight.dropped) options.dropout = &drop;
  return with_gradients([&] { return attention(rotary(q), rotary(k), v, options); }, inputs);
}

/// Of three calls with a cache.
std::vector<at::Tensor> cached(const Space& S, std::optional<std::int64_t> window, at::Device device) {
  const at::NoGradGuard no_gradient;
  KeyValueCache cache(2, window);
  std::vector<at::Tensor> results;
  for (const std::int64_t n : {4, 1, 2}) {
    const Space some = S.with_shape({2, n, 3, 4});
    const std::int64_t before = cache.positions();
    const auto part = [&](std::uint64_t seed) {
      return Vector(some, random_vector(some, seed + static_cast<std::uint64_t>(n)).local().to(device));
    };
    cache.append(rotary(part(1), {.offset = before}), part(20));
    results.push_back(attention(rotary(part(40), {.offset = before}), cache.keys(), cache.values(),
                                {.causal = true, .window = window, .offset = before - cache.first()})
                          .local());
  }
  return results;
}

using LossOf = Loss (*)(const Vector& x, const Vector& y);

Run loss_run(const Space& S, LossOf loss, bool of_probabilities) {
  return [=](at::Device device) {
    const at::Tensor any = random_vector(S, 1, true).local();
    const Vector x(S, (of_probabilities ? any.sigmoid() : any).to(device).requires_grad_());
    const Vector y(S, random_vector(S, 2, true).local().gt(0).to(device, at::kDouble));
    return with_gradients([&] { return loss(x, y).mean(); }, {x});
  };
}

Run cross_entropy_run(const Space& S, const CrossEntropyOptions& options) {
  return [=](at::Device device) {
    const Vector x = leaf_on(S, 1, device);
    const at::Tensor targets = at::arange(-1, 4, at::device(device).dtype(at::kLong));
    const Space rows = S.dim_of(0) == 0 ? Space(row(), {5}).sharded(0, "a") : Space(row(), {5});
    return with_gradients([&] { return cross_entropy(x, distribute(rows, targets), options).sum; }, {x});
  };
}

/// Each call reads, for the host says where tokens go.
Run expert_run(const Space& S, const ExpertPlaces& places) {
  return [=](at::Device device) {
    Experts experts("experts", S, places, {.experts = 3, .inner = 4});
    TopKGate gate("gate", S.partition(), 3, {.k = 2});
    experts.initialise(3, at::kDouble, device);
    std::vector<Vector> inputs{leaf_on(S, 1, device), leaf_on(experts.gate_space(3), 2, device)};
    for (const Parameter& each : experts.parameters()) inputs.push_back(each.value());
    return value_and_gradients([&] { return experts(inputs[0], gate(inputs[1])); }, inputs);
  };
}

/// What imaginary parts of k = 0 and n/2 change in the values of a long line in fp32: nothing.
std::vector<at::Tensor> changed_by_imaginary_ends(at::Device device) {
  constexpr std::int64_t n = 8192;
  const Operator there = rfft(Space(row(), {2, n}), {1});
  const at::Tensor real = random_vector(there.range(), 1, true).local().to(at::kFloat), other = real.clone();
  for (const std::int64_t k : {std::int64_t{0}, n / 2})
    real.select(2, 1).select(1, k).zero_(), other.select(2, 1).select(1, k).fill_(100);
  std::vector<at::Tensor> changes;
  for (const Operator& A : {irfft(there.range(), {1}), adjoint(there)}) {
    const auto values = [&](const at::Tensor& z) { return A(Vector(A.domain(), z.to(device))).local(); };
    changes.push_back(values(other).sub(values(real)));
  }
  return changes;
}

}  // namespace

std::vector<NamedRun> linear_runs() {
  const Space B(row(), {5, 7}), Y(row(), {5, 6}), W(row(), {7, 6});
  struct Laid {
    std::string name;
    Space x, w, y;
    ContractionOptions options = {};
  };
  std::vector<NamedRun> all{{"linear, deferred", deferred}};
  for (const Laid& laid : std::vector<Laid>{
           {"column", B, W.sharded(1, "a"), Y.sharded(1, "a")},
           {"row", B.sharded(1, "a"), W.sharded(0, "a"), Y},
           {"batch", B.sharded(0, "a"), W, Y.sharded(0, "a")},
           {"kept", B.sharded(0, "a"), W.sharded(0, "a"), Y.sharded(0, "a"), {.keep_w = true}},
           {"panels", B.sharded(0, "a"), W.sharded(1, "a"), Y.sharded(1, "a"), {.rounds = 3}},
       })
    all.push_back({"linear, " + laid.name, run_of(laid.x, [=] {
                     return Linear("linear", "bi,io->bo", laid.x, laid.w, laid.y,
                                   {.contraction = laid.options});
                   })});
  return all;
}

std::vector<NamedRun> norm_and_embedding_runs() {
  const Space X(row(), {5, 7}), W(row(), {11, 4});
  std::vector<NamedRun> all;
  for (const Space& S : {X, X.sharded(0, "a"), X.sharded(1, "a")}) {
    const std::string in = " in " + to_string(S);
    all.push_back({"layer norm" + in, run_of(S, [=] { return LayerNorm("norm", S); })});
    all.push_back({"RMS norm" + in, run_of(S, [=] { return RmsNorm("norm", S); })});
    all.push_back({"activations" + in, [=](at::Device device) { return activated(S, device); }});
  }
  for (const Space& table : {W, W.sharded(0, "a"), W.sharded(1, "a")}) {
    for (const at::ScalarType type : {at::kDouble, at::kBFloat16})
      all.push_back({"embedding in " + to_string(table) + (type == at::kDouble ? "" : ", bf16"),
                     [=](at::Device device) { return embedded(table, type, device); }});
  }
  return all;
}

std::vector<NamedRun> attention_runs() {
  const Space Q(row(), {2, 7, 3, 4});
  const std::vector<Sight> sights{{"all"},
                                  {"causal", {.causal = true}},
                                  {"window", {.causal = true, .window = 3}},
                                  {"mask of numbers", {}, true},
                                  {"mask of booleans", {.causal = true}, false, true},
                                  {"seen", {.causal = true}, false, false, true},
                                  {"dropout", {}, false, false, false, true}};
  std::vector<NamedRun> all;
  for (const auto& [name, S] : std::vector<std::pair<std::string, Space>>{
           {"heads", Q.sharded(2, "a")},
           {"ring", Q.sharded(1, "a")},
           {"zigzag", Q.sharded(1, "a", Split::zigzag(7, row().size()))}})
    for (const Sight& sight : sights)
      all.push_back({"attention, " + name + ", " + sight.name,
                     [=, S = S](at::Device device) { return attended(S, sight, device); }});
  for (const std::optional<std::int64_t> window :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(3)})
    all.push_back({window ? "cache with a window" : "cache",
                   [=](at::Device device) { return cached(Q.sharded(2, "a"), window, device); }});
  return all;
}

std::vector<NamedRun> loss_runs() {
  const Space X(row(), {5, 7});
  const std::vector<std::pair<std::string, std::pair<LossOf, bool>>> losses{
      {"l1", {l1_loss, false}},
      {"mse", {mse_loss, false}},
      {"bce", {bce_loss, true}},
      {"bce with logits", {bce_with_logits_loss, false}},
      {"kl_div", {[](const Vector& x, const Vector& y) { return kl_div_loss(x, y); }, false}},
      {"poisson", {[](const Vector& x, const Vector& y) { return poisson_nll_loss(x, y); }, false}}};
  std::vector<NamedRun> all;
  for (const Space& S : {X, X.sharded(0, "a"), X.sharded(1, "a")}) {
    for (const auto& [name, loss] : losses)
      all.push_back({name + " in " + to_string(S), loss_run(S, loss.first, loss.second)});
    for (const CrossEntropyOptions& options :
         {CrossEntropyOptions{}, CrossEntropyOptions{.smoothing = 0.1, .z_loss = 0.01}})
      all.push_back(
          {"cross-entropy" + std::string(options.z_loss > 0 ? ", smoothed" : "") + " in " + to_string(S),
           cross_entropy_run(S, options)});
  }
  return all;
}

std::vector<NamedRun> expert_runs() {
  const Space X(row(), {2, 5, 7});
  return {{"experts, of other tokens", expert_run(X.sharded(1, "a"), {"a"})},
          {"experts, of the same tokens", expert_run(X, {"a"})},
          {"experts, each over all workers", expert_run(X, {"", {"a"}})}};
}

std::vector<NamedRun> volume_runs() {
  const Space X(row(), {2, 4, 6, 5, 7}), Y(row(), {2, 6, 6, 5, 7}),
      any(row(), std::vector<std::int64_t>(5, Space::any));
  std::vector<NamedRun> all;
  for (const int dim : {1, 2, 4}) {
    const Space S = X.sharded(dim, "a"), T = Y.sharded(dim, "a"), open = any.sharded(dim, "a");
    const std::string in = " in " + to_string(S);
    all.push_back({"convolution" + in, run_of(S, [=] {
                     return Conv("conv", "bcdhw,octrs->bodhw", S, T, {3},
                                 {.windows = {.padding = {.each = {1}}}});
                   })});
    all.push_back({"transposed convolution" + in, run_of(T, [=] {
                     return ConvTranspose("up", "bodhw,octrs->bcdhw", T, S, {3},
                                          {.windows = {.padding = {.each = {1}}}});
                   })});
    all.push_back({"max pool" + in, run_of(S, [=] { return MaxPool("pool", S, open, {{3}, {2}, {1}}); })});
    all.push_back({"mean pool" + in, run_of(S, [=] {
                     return AvgPool("pool", S, open, {{3, 2, 3}, {2, 1, 2}, {1, 0, 1}}, {false});
                   })});
    all.push_back({"adaptive pool" + in, run_of(S, [=] {
                     return AdaptiveAvgPool("pool", S, Space(row(), {2, 4, 4, 3, 5}).sharded(dim, "a"));
                   })});
    all.push_back({"adaptive max pool" + in, run_of(S, [=] {
                     return AdaptiveMaxPool("pool", S, Space(row(), {2, 4, 4, 3, 5}).sharded(dim, "a"));
                   })});
    all.push_back({"up-sampling" + in,
                   run_of(S, [=] { return Upsample("up", S, resampled(S, 2), Sampling::linear); })});
  }
  return all;
}

std::vector<NamedRun> image_runs() {
  const Space X(row(), {2, 4, 9, 6}), Y(row(), {2, 6, 9, 6}),
      any(row(), std::vector<std::int64_t>(4, Space::any));
  const char* const spec = "bchw,ocrs->bohw";
  std::vector<NamedRun> all;
  for (const int dim : {1, 2, 3}) {
    const Space S = X.sharded(dim, "a"), T = Y.sharded(dim, "a"), open = any.sharded(dim, "a");
    const std::string in = " in " + to_string(S);
    for (const PaddingMode mode : {PaddingMode::zeros, PaddingMode::circular}) {
      const ConvOptions options{.windows = {.padding = {.each = {1}, .mode = mode}, .groups = 2}};
      all.push_back({"convolution, " + to_string(mode) + in,
                     run_of(S, [=] { return Conv("conv", spec, S, T, {3}, options); })});
    }
    all.push_back({"transposed convolution" + in, run_of(T, [=] {
                     return ConvTranspose("up", "bohw,ocrs->bchw", T, S, {3},
                                          {.windows = {.padding = {.each = {1}}}});
                   })});
    all.push_back({"max pool" + in, run_of(S, [=] { return MaxPool("pool", S, open, {{3}, {2}, {1}}); })});
    all.push_back({"mean pool" + in, run_of(S, [=] {
                     return AvgPool("pool", S, open, {{3}, {2}, {1}}, {false});
                   })});
    all.push_back({"adaptive pool" + in, run_of(S, [=] {
                     return AdaptiveAvgPool("pool", S, Space(row(), {2, 4, 5, 4}).sharded(dim, "a"));
                   })});
    all.push_back({"adaptive max pool" + in, run_of(S, [=] {
                     return AdaptiveMaxPool("pool", S, Space(row(), {2, 4, 5, 4}).sharded(dim, "a"));
                   })});
    all.push_back({"spectral convolution" + in, run_of(S, [=] {
                     return SpectralConvolution("spectral", S, T, {3, 2});
                   })});
    all.push_back({"up-sampling" + in,
                   run_of(S, [=] { return Upsample("up", S, resampled(S, 2), Sampling::linear); })});
    all.push_back(
        {"padding" + in, run_of(S, [=] { return Pad("pad", S, open, {2}, {1}, PaddingMode::reflect); })});
    all.push_back({"group norm" + in, run_of(S, [=] { return GroupNorm("norm", 2, S); })});
    all.push_back({"instance norm" + in, run_of(S, [=] { return InstanceNorm("norm", S); })});
    all.push_back({"batch norm" + in, [=](at::Device device) {
                     const ContextScope context({.training = true});
                     return run_of(S, [=] { return BatchNorm("norm", S); })(device);
                   }});
  }
  all.push_back({"imaginary parts of real frequencies", changed_by_imaginary_ends});
  return all;
}

std::vector<NamedRun> layer_runs() {
  std::vector<NamedRun> all;
  for (const auto& some : {linear_runs(), norm_and_embedding_runs(), attention_runs(), loss_runs(),
                           expert_runs(), image_runs(), volume_runs()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace riesz::testing
