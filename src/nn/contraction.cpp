// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction_plan.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

using detail::Applied;

at::Tensor multiply(const Contraction& form, const at::Tensor& a, const at::Tensor& b, int i, int j, int k) {
  const Indices& s = form.indices();
  if (!form.read(k).range().partition().active()) return at::empty({0}, a.options());
  const Indices local{s[static_cast<std::size_t>(i)], s[static_cast<std::size_t>(j)], s[static_cast<std::size_t>(k)]};
  return at::einsum(to_string(local), {a, b});
}

/// The face of operand k: reads operands i and j unless given read, multiplies, writes by the adjoint of reading k.
struct Face {
  const Contraction& form;
  at::Tensor token;

  at::Tensor read(int operand, const at::Tensor& stored) {
    Applied applied = detail::apply(form.read(operand), stored, token);
    token = applied.token;
    return applied.y;
  }
  at::Tensor write(int k, const at::Tensor& product) {
    Applied applied = detail::apply(adjoint(form.read(k)), product, token);
    token = applied.token;
    return applied.y;
  }
};

Applied value(const Contraction& form, const at::Tensor& x, const at::Tensor& w, const at::Tensor& token);

struct FormCapsule : torch::CustomClassHolder {
  explicit FormCapsule(Contraction contraction) : form(std::move(contraction)) {}
  Contraction form;
};

/// The library's second autograd node. It saves the operands as given, so a gathered weight does not live until
/// backward, and reads ȳ once for both gradients.
struct ContractionNode : torch::autograd::Function<ContractionNode> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                                                const at::Tensor& w, const at::Tensor& token,
                                                const Contraction& form) {
    context->save_for_backward({x, w});
    context->saved_data["form"] = c10::IValue::make_capsule(c10::make_intrusive<FormCapsule>(form));
    Face face{form, at::empty({0}, token.options())};
    const at::Tensor product = multiply(form, face.read(0, x), face.read(1, w), 0, 1, 2);
    return {face.write(2, product), face.token};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto capsule = context->saved_data["form"].toCapsule();
    const Contraction& form = static_cast<const FormCapsule&>(*capsule).form;
    const auto saved = context->get_saved_variables();
    if (at::GradMode::is_enabled()) return differentiable(form, saved[0], saved[1], gradients[0], gradients[1]);
    // A face that communicates is computed on every worker, whatever this one needs: its peers may need it.
    const bool x_face = context->needs_input_grad(0) || moves(form, 1, 2, 0);
    const bool w_face = context->needs_input_grad(1) || moves(form, 0, 2, 1);
    Face face{form, gradients[1]};
    at::Tensor xbar;
    at::Tensor wbar;
    if (x_face || w_face) {
      const at::Tensor ybar = face.read(2, gradients[0]);
      if (x_face) xbar = face.write(0, multiply(form, face.read(1, saved[1]), ybar, 1, 2, 0));
      if (w_face) wbar = face.write(1, multiply(form, face.read(0, saved[0]), ybar, 0, 2, 1));
    }
    return {xbar, wbar, face.token, at::Tensor()};
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

bool reads_as_stored(const Contraction& form) {
  return form.read(0).steps().empty() && form.read(1).steps().empty() && form.read(2).steps().empty();
}

Traffic at_world_rank(const Operator& A, const Partition& grid, int rank) {
  const Partition& P = A.domain().partition();
  for (int r = 0; r < P.size(); ++r) {
    if (P.world_rank(r) == grid.world_rank(rank)) return A.traffic(r);
  }
  return {};
}

}  // namespace

Contraction::Contraction(const std::string& spec, const Space& X, const Space& W, const Space& Y)
    : Contraction([&] {
        const Indices indices = parse_indices(spec);
        ContractionPlan plan = plan_contraction(indices, X, W, bind(indices, X, W, Y));
        return Contraction(indices, std::move(plan.read), std::move(plan.parallel));
      }()) {}

Contraction::Contraction(Indices indices, std::array<Operator, 3> read, std::map<std::string, char> parallel)
    : indices_(std::move(indices)), read_(std::move(read)), parallel_(std::move(parallel)),
      range_(dual(read_[2].domain())) {}

bool Contraction::communicates() const {
  return read_[0].communicates() || read_[1].communicates() || read_[2].communicates();
}

Traffic Contraction::forward_traffic(int rank) const {
  const Partition& grid = read_[1].range().partition();
  return at_world_rank(read_[0], grid, rank) + at_world_rank(read_[1], grid, rank) +
         at_world_rank(adjoint(read_[2]), grid, rank);
}

Traffic Contraction::backward_traffic(int rank) const {
  const Partition& grid = read_[1].range().partition();
  Traffic sum = at_world_rank(read_[2], grid, rank);
  for (const std::size_t k : {0U, 1U}) {
    sum += at_world_rank(read_[k], grid, rank) + at_world_rank(adjoint(read_[k]), grid, rank);
  }
  return sum;
}

Contraction Contraction::permuted(int first, int second, int third) const {
  const auto [i, j, k] = std::array{static_cast<std::size_t>(first), static_cast<std::size_t>(second),
                                    static_cast<std::size_t>(third)};
  return {{indices_[i], indices_[j], indices_[k]}, {read_[i], read_[j], read_[k]}, parallel_};
}

Vector Contraction::operator()(const Vector& x, const Vector& w) const {
  RIESZ_CHECK(x.space() == read_[0].domain() && w.space() == read_[1].domain(), "contract ", to_string(indices_),
              " is planned for x and w in\n  ", to_string(read_[0].domain()), "\n  ", to_string(read_[1].domain()),
              "\nbut is called with vectors of\n  ", to_string(x.space()), "\n  ", to_string(w.space()));
  const bool everywhere = read_[1].range().partition().active();
  if (reads_as_stored(*this) && everywhere) return {range(), at::einsum(to_string(indices_), {x.local(), w.local()})};
  if (!at::GradMode::is_enabled() || !communicates()) {
    return {range(), value(*this, x.local(), w.local(), at::empty({0}, x.local().options())).y};
  }
  Chain* chain = Chain::current();
  RIESZ_CHECK(chain != nullptr, "contract ", to_string(*this), " communicates while gradients are recorded, but outside "
              "a chain: open one around the computation of a loss (riesz::Chain chain;), or record none "
              "(at::NoGradGuard guard;)");
  Applied applied = value(*this, x.local(), w.local(), chain->token(x.local().device()));
  chain->advance(applied.token);
  return {range(), applied.y};
}

std::string to_string(const Contraction& contraction) {
  std::string text = to_string(contraction.indices());
  std::string on;
  for (const auto& [axis, index] : contraction.parallel()) {
    on += (on.empty() ? " on " : ", ") + axis + ": " + (index == '-' ? std::string("none") : std::string(1, index));
  }
  return text + on + "; read x: " + to_string(contraction.read(0)) + "; read w: " + to_string(contraction.read(1)) +
         "; write y: " + to_string(adjoint(contraction.read(2)));
}

Vector contract(const std::string& spec, const Vector& x, const Vector& w, const Space& Y) {
  return Contraction(spec, x.space(), w.space(), Y)(x, w);
}

}  // namespace riesz
