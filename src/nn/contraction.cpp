// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/faces.h"
#include "riesz/nn/put_off.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/node_layer.h"

namespace riesz {
namespace {

using detail::Applied;

Applied value(const Contraction& form, const at::Tensor& x, const at::Tensor& w, const at::Tensor& token);

/// What a node needs besides its tensors.
struct Saved : torch::CustomClassHolder {
  explicit Saved(Contraction contraction) : form(std::move(contraction)) {}
  Contraction form;
  std::shared_ptr<PutOff::Queue> later;
};

/// The library's second autograd node. It saves the operands as given, and reads ȳ once for both gradients.
struct ContractionNode : torch::autograd::Function<ContractionNode> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const at::Tensor& x, const at::Tensor& w,
                                                const at::Tensor& token, const Contraction& form) {
    detail::save_layer(context);
    auto saved = c10::make_intrusive<Saved>(form);
    if (form.plan().options.w_is_parameter) saved->later = PutOff::current();
    Operands gathered;
    const at::Tensor y = faces(form.plan(), {2}, {x, w, at::Tensor()}, gathered)[2];
    const bool keep_x = form.plan().options.keep_x && form.read(0).moves();
    const bool keep_w = form.plan().options.keep_w && form.read(1).moves();
    context->save_for_backward(
        {x, w, keep_x ? gathered[0] : at::Tensor(), keep_w ? gathered[1] : at::Tensor()});
    context->saved_data["saved"] = c10::IValue::make_capsule(saved);
    return {y.is_same(x) || y.is_same(w) ? y.alias() : y, at::empty({0}, token.options())};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const LayerScope layer = detail::saved_layer(context);
    const auto capsule = context->saved_data["saved"].toCapsule();
    const Saved& saved = static_cast<const Saved&>(*capsule);
    const Contraction& form = saved.form;
    const auto given = context->get_saved_variables();
    if (at::GradMode::is_enabled())
      return differentiable(form, given[0], given[1], gradients[0], gradients[1]);
    // A face that communicates is computed on every worker, whatever this one needs: its peers may need it.
    std::vector<std::size_t> wanted;
    if (context->needs_input_grad(0) || moves(form, 1, 2, 0)) wanted.push_back(0);
    const bool w_face = context->needs_input_grad(1) || moves(form, 0, 2, 1);
    const bool later = saved.later && is_open(*saved.later);
    if (w_face && !later) wanted.push_back(1);
    Operands gathered{given[2], given[3], at::Tensor()};
    Operands results;
    if (!wanted.empty()) results = faces(form.plan(), wanted, {given[0], given[1], gradients[0]}, gathered);
    if (w_face && later)
      put_off(*saved.later, form.plan(), given[1], {given[0], at::Tensor(), gradients[0]},
              {gathered[0], at::Tensor(), gathered[2]});
    return {results[0], results[1], gradients[1], at::Tensor()};
  }

  static bool moves(const Contraction& form, int i, int j, int k) {
    return form.read(i).moves() || form.read(j).moves() || adjoint(form.read(k)).moves();
  }

  static torch::autograd::variable_list differentiable(const Contraction& form, const at::Tensor& x,
                                                       const at::Tensor& w, const at::Tensor& ybar,
                                                       const at::Tensor& token) {
    const Applied xbar = value(form.permuted(1, 2, 0), w, ybar, token);
    const Applied wbar = value(form.permuted(0, 2, 1), x, ybar, xbar.token);
    return {xbar.y, wbar.y, wbar.token, at::Tensor()};
  }
};

Applied value(const Contraction& form, const at::Tensor& x, const at::Tensor& w, const at::Tensor& token) {
  torch::autograd::variable_list results = ContractionNode::apply(x, w, token, form);
  return {results[0], results[1]};
}

ContractionPlan plan_of(const std::string& spec, const Space& X, const Space& W, const Space& Y,
                        const ContractionOptions& options) {
  const Indices indices = parse_indices(spec);
  return plan_contraction(indices, X, W, bind(indices, X, W, Y), options);
}

}  // namespace

Contraction::Contraction(const std::string& spec, const Space& X, const Space& W, const Space& Y,
                         const ContractionOptions& options)
    : Contraction(std::make_shared<const ContractionPlan>(plan_of(spec, X, W, Y, options))) {}

Contraction::Contraction(std::shared_ptr<const ContractionPlan> plan)
    : plan_(std::move(plan)), range_(dual(plan_->read[2].domain())) {}

bool Contraction::communicates() const {
  return read(0).communicates() || read(1).communicates() || read(2).communicates();
}

Contraction Contraction::permuted(int first, int second, int third) const {
  const ContractionPlan& p = *plan_;
  const auto [i, j, k] = std::array{static_cast<std::size_t>(first), static_cast<std::size_t>(second),
                                    static_cast<std::size_t>(third)};
  ContractionPlan other{{p.indices[i], p.indices[j], p.indices[k]},
                        p.parallel,
                        {p.read[i], p.read[j], p.read[k]},
                        {.rounds = p.options.rounds},
                        p.stream};
  if (other.stream) other.stream->read = {p.stream->read[i], p.stream->read[j], p.stream->read[k]};
  return Contraction(std::make_shared<const ContractionPlan>(std::move(other)));
}

Vector Contraction::operator()(const Vector& x, const Vector& w) const {
  RIESZ_CHECK(x.space() == read(0).domain() && w.space() == read(1).domain(), "contract ",
              to_string(indices()), " is planned for x and w in\n  ", to_string(read(0).domain()), "\n  ",
              to_string(read(1).domain()), "\nbut is called with vectors of\n  ", to_string(x.space()),
              "\n  ", to_string(w.space()));
  if (!at::GradMode::is_enabled()) {
    Operands gathered;
    return {range(), faces(*plan_, {2}, {x.local(), w.local(), at::Tensor()}, gathered)[2]};
  }
  RIESZ_CHECK(
      !x.local().is_complex() && !w.local().is_complex(), "contract ", to_string(indices()),
      ": no gradients of complex operands; record none (at::NoGradGuard guard;), or contract their real and "
      "imaginary parts");
  if (!communicates())
    return {range(), value(*this, x.local(), w.local(), at::empty({0}, x.local().options())).y};
  Chain* chain = Chain::current();
  RIESZ_CHECK(chain != nullptr, "contract ", to_string(*this),
              " communicates while gradients are recorded, but outside "
              "a chain: open one around the computation of a loss (riesz::Chain chain;), or record none "
              "(at::NoGradGuard guard;)");
  Applied applied = value(*this, x.local(), w.local(), chain->token(x.local().device()));
  chain->advance(applied.token);
  return {range(), applied.y};
}

Vector contract(const std::string& spec, const Vector& x, const Vector& w, const Space& Y,
                const ContractionOptions& options) {
  return Contraction(spec, x.space(), w.space(), Y, options)(x, w);
}

}  // namespace riesz
