// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/contraction.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/deferral.h"
#include "riesz/nn/contraction/faces.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/node.h"

namespace riesz {
namespace {

using detail::Applied;

Applied value(const Contraction& form, const at::Tensor& x, const at::Tensor& w, const at::Tensor& token);

/// Of x, w and the token. It saves the operands as given, and reads ȳ once for both gradients.
class ContractionNode : public detail::Node {
 public:
  explicit ContractionNode(Contraction form) : form_(std::move(form)) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor &x = inputs[0], &w = inputs[1];
    const ContractionOptions& options = form_.plan().options;
    if (options.w_is_parameter) later_ = DeferredGradients::current();
    Operands gathered;
    const at::Tensor y = faces(form_.plan(), {2}, {x, w, at::Tensor()}, gathered)[2];
    const bool keep_x = options.keep_x && form_.read(0).moves();
    const bool keep_w = options.keep_w && form_.read(1).moves();
    save({x, w, keep_x ? gathered[0] : at::Tensor(), keep_w ? gathered[1] : at::Tensor()});
    return {y.is_same(x) || y.is_same(w) ? y.alias() : y, at::empty({0}, inputs[2].options())};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const std::vector<at::Tensor> given = saved();
    if (at::GradMode::is_enabled()) return differentiable(given[0], given[1], gradients[0], gradients[1]);
    // A face that communicates is computed on every worker, whatever this one needs: its peers may need it.
    std::vector<std::size_t> wanted;
    if (needs_gradient(0) || moves(1, 2, 0)) wanted.push_back(0);
    const bool w_face = needs_gradient(1) || moves(0, 2, 1);
    const bool later = later_ && is_open(*later_);
    if (w_face && !later) wanted.push_back(1);
    Operands gathered{given[2], given[3], at::Tensor()};
    Operands results;
    if (!wanted.empty()) results = faces(form_.plan(), wanted, {given[0], given[1], gradients[0]}, gathered);
    if (w_face && later)
      defer(*later_, form_.plan(), given[1], {given[0], at::Tensor(), gradients[0]},
              {gathered[0], at::Tensor(), gathered[2]});
    return {results[0], results[1], gradients[1]};
  }

 private:
  bool moves(int i, int j, int k) const {
    return form_.read(i).moves() || form_.read(j).moves() || adjoint(form_.read(k)).moves();
  }

  std::vector<at::Tensor> differentiable(const at::Tensor& x, const at::Tensor& w, const at::Tensor& ybar,
                                         const at::Tensor& token) const {
    const Applied xbar = value(form_.permuted(1, 2, 0), w, ybar, token);
    const Applied wbar = value(form_.permuted(0, 2, 1), x, ybar, xbar.token);
    return {xbar.y, wbar.y, wbar.token};
  }

  Contraction form_;
  std::shared_ptr<DeferredGradients::Queue> later_;
};

Applied value(const Contraction& form, const at::Tensor& x, const at::Tensor& w, const at::Tensor& token) {
  const std::vector<at::Tensor> results =
      detail::record(std::make_shared<ContractionNode>(form), {x, w, token});
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
  RIESZ_CHECK(x.local().scalar_type() == w.local().scalar_type(), "contract ", to_string(indices()),
              ": x has elements of type ", x.local().scalar_type(), " and w of type ",
              w.local().scalar_type(),
              "; they must be of one type, so make x of w's before distribute, such as "
              "by tensor.to(at::kFloat), or w of x's, such as by the layer's initialise(seed, dtype)");
  check_one_device("contract", x, w);
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
