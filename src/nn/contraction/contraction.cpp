// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/contraction.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/nn/contraction/deferral.h"
#include "riesz/nn/contraction/faces.h"
#include "riesz/nn/contraction/plan.h"
#include "riesz/nn/contraction/shared_read.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/check_input.h"
#include "riesz/primitives/node.h"

namespace riesz {
namespace {

using detail::Applied;
using detail::ContractionPlan;
using detail::faces;
using detail::Operands;
using detail::SharedFace;
using detail::SharedRead;
using detail::SharedX;

/// Which operands have a gradient on any worker: those that are no constants.
struct Varied {
  bool x, w;
};

Applied value(const Contraction& form, const SharedX& x, const at::Tensor& w, const at::Tensor& token,
              Varied varied);

/// Of x, w and the token. It saves the operands that a gradient needs as given, and reads ȳ once for both
/// gradients. An x that its own node gives again is not kept: it is made anew before the gradient in w, and
/// let go of after. A constant has no gradient, so nothing of it is computed or sent, and the other operand
/// is not kept.
class ContractionNode : public detail::Node {
 public:
  ContractionNode(Contraction form, const SharedX& x, Varied varied)
      : form_(std::move(form)),
        varied_(varied),
        uncast_x_(x.uncast),
        gathered_x_(x.gathered),
        group_(x.group),
        first_(x.first) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor &x = inputs[0], &w = inputs[1];
    const ContractionOptions& options = form_.plan().options;
    if (options.w_is_parameter && varied_.w) later_ = detail::current_queue();
    if (later_) parameter_ = w;  // what is saved may come back as another handle of it
    const auto shared_x = std::exchange(gathered_x_, nullptr);  // not to live until backward
    Operands gathered{shared_x ? *shared_x : at::Tensor(), at::Tensor(), at::Tensor()};
    const at::Tensor y = faces(form_.plan(), {2}, {x, w, at::Tensor()}, gathered)[2];
    if (shared_x) *shared_x = gathered[0];
    const bool keep_x = varied_.w && options.keep_x && form_.read(0).sends();
    const bool keep_w = varied_.x && options.keep_w && form_.read(1).sends();
    type_of_x_ = x.scalar_type(), type_of_w_ = w.scalar_type();
    save({varied_.x ? w : at::Tensor(), keep_x ? gathered[0] : at::Tensor(),
          keep_w ? gathered[1] : at::Tensor()});
    const at::Tensor uncast = std::exchange(uncast_x_, {});  // nor this
    if (varied_.w) save_given(uncast, x);
    return {y.is_same(x) || y.is_same(w) ? y.alias() : of_its_own(y), at::empty({0}, inputs[2].options())};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const std::vector<at::Tensor> kept = saved();
    if (at::GradMode::is_enabled()) return differentiable(given(), kept[0], gradients[0], gradients[1]);
    // A face that communicates is computed on every worker, whatever this one needs: its peers may need it.
    std::vector<std::size_t> wanted;
    if (varied_.x && (needs_gradient(0) || moves(1, 2, 0))) wanted.push_back(0);
    const bool w_face = varied_.w && (needs_gradient(1) || moves(0, 2, 1));
    const bool later = later_ && detail::is_open(*later_);
    // Where nothing moves, the gradient in w is first, so that x lives no longer than it must.
    if (w_face && !later) wanted.insert(form_.communicates() ? wanted.end() : wanted.begin(), 1);
    Operands gathered{kept[1], kept[2], at::Tensor()};
    const bool reads_x = w_face && (later || !(gathered[0].defined() || was_gathered()));
    at::Tensor x = reads_x ? given() : at::Tensor();
    Operands stored{of_type(later ? x : std::exchange(x, {}), type_of_x_, gradients[0]),
                    of_type(kept[0], type_of_w_, gradients[0]), gradients[0]};
    const Operands results = gradients_of(wanted, std::move(stored), gathered);
    if (w_face && later)
      defer(*later_, form_.plan(), parameter_, {x, at::Tensor(), gradients[0]},
            {kept[1], at::Tensor(), gathered[2]}, group_);
    return {of_its_own(results[0]), results[1], gradients[1]};
  }

 private:
  /// Not as a view, which would hold its memory a second time: then who gets it may write over it.
  static at::Tensor of_its_own(const at::Tensor& face) {
    return face.defined() && face.is_view() ? face.variable_data() : face;
  }

  /// What is not kept, for the type of its gradient.
  static at::Tensor of_type(const at::Tensor& operand, at::ScalarType type, const at::Tensor& ybar) {
    return operand.defined() ? operand : at::empty({0}, ybar.options().dtype(type));
  }

  bool moves(int i, int j, int k) const {
    return form_.read(i).sends() || form_.read(j).sends() || adjoint(form_.read(k)).sends();
  }

  /// Has another of the group read x in this backward?
  bool was_gathered() const { return group_ && group_->pass(number_of_backward()).gathered.defined(); }

  /// The faces, with what the group has read of x, and its sum so far; the first of the group runs last.
  Operands gradients_of(const std::vector<std::size_t>& wanted, Operands stored, Operands& gathered) const {
    Operands results;
    if (!group_) return wanted.empty() ? results : faces(form_.plan(), wanted, std::move(stored), gathered);
    if (!wanted.empty()) {
      SharedRead::Pass& pass = group_->pass(number_of_backward());
      SharedFace x_face{std::exchange(pass.sum, {}), first_};
      if (!gathered[0].defined()) gathered[0] = pass.gathered;
      results = faces(form_.plan(), wanted, std::move(stored), gathered, &x_face);
      pass = {gathered[0], std::move(x_face.sum)};
    }
    if (first_) group_->end(number_of_backward());
    return results;
  }

  std::vector<at::Tensor> differentiable(const at::Tensor& x, const at::Tensor& w, const at::Tensor& ybar,
                                         const at::Tensor& token) const {
    Applied xbar{{}, token}, wbar;
    if (varied_.x)
      xbar = value(form_.permuted(1, 2, 0, type_of_x_), {w, w, nullptr, nullptr}, ybar, token,
                   {varied_.w, true});
    wbar.token = xbar.token;
    if (varied_.w)
      wbar = value(form_.permuted(0, 2, 1, type_of_w_), {x, x, nullptr, nullptr}, ybar, xbar.token,
                   {varied_.x, true});
    return {xbar.y, wbar.y, wbar.token};
  }

  Contraction form_;
  Varied varied_;
  at::ScalarType type_of_x_ = at::kFloat, type_of_w_ = at::kFloat;
  std::shared_ptr<detail::DeferredQueue> later_;
  at::Tensor parameter_;  // w, where its gradient may be put off
  at::Tensor uncast_x_;   // in forward
  std::shared_ptr<at::Tensor> gathered_x_;
  std::shared_ptr<SharedRead> group_;  // nullptr: nobody reads x alike, or x comes in panels
  bool first_;
};

Applied value(const Contraction& form, const SharedX& x, const at::Tensor& w, const at::Tensor& token,
              Varied varied) {
  const std::vector<at::Tensor> results =
      detail::record(std::make_shared<ContractionNode>(form, x, varied), {x.given, w, token});
  return {results[0], results[1]};
}

SharedX shared_x_in(const Contraction& form, const Vector& x, bool recorded) {
  return detail::shared_x(x, form.read(0), form.plan().options.compute_type, form.plan().stream.has_value(),
                          recorded);
}

void check_real(const Contraction& form, const char* which, const Vector& x) {
  RIESZ_CHECK(!form.plan().options.compute_type || x.local().is_floating_point(), "contract ",
              detail::spec_of(form.indices()), ": a compute type is for real operands, but ", which,
              " has elements of type ", x.local().scalar_type());
}

at::Tensor unrecorded(const Contraction& form, const Vector& x, const Vector& w) {
  const SharedX mine = shared_x_in(form, x, false);
  Operands gathered{mine.gathered ? *mine.gathered : at::Tensor(), at::Tensor(), at::Tensor()};
  const at::Tensor y = faces(form.plan(), {2}, {mine.given, w.local(), at::Tensor()}, gathered)[2];
  if (mine.gathered) *mine.gathered = gathered[0];
  leave_to_others(x, form.read(0), mine);
  return y;
}

ContractionPlan plan_of(const std::string& spec, const Space& X, const Space& W, const Space& Y,
                        const ContractionOptions& options) {
  const detail::Indices indices = detail::parse_indices(spec);
  return detail::plan_contraction(indices, X, W, detail::bind(indices, X, W, Y), options);
}

/// A plan of `contract`, and what else it follows from: Y and the options as they were given.
struct PlanOfCall {
  std::string spec;
  Space Y;
  ContractionOptions options;
  Contraction form;
};

}  // namespace

Contraction::Contraction(const std::string& spec, const Space& X, const Space& W, const Space& Y,
                         const ContractionOptions& options)
    : Contraction(std::make_shared<const ContractionPlan>(plan_of(spec, X, W, Y, options))) {}

Contraction::Contraction(std::shared_ptr<const ContractionPlan> plan)
    : plan_(std::move(plan)), range_(dual(plan_->read[2].domain())) {}

const std::array<std::string, 3>& Contraction::indices() const { return plan_->indices; }

const Parallel& Contraction::parallel() const { return plan_->parallel; }

const Operator& Contraction::read(int operand) const {
  return plan_->read[static_cast<std::size_t>(operand)];
}

Traffic Contraction::forward_traffic(int rank) const { return detail::forward_traffic(*plan_, rank); }

Traffic Contraction::backward_traffic(int rank, GradientsWanted wanted) const {
  return detail::backward_traffic(*plan_, rank, wanted);
}

bool Contraction::communicates() const {
  return read(0).communicates() || read(1).communicates() || read(2).communicates();
}

Contraction Contraction::permuted(int first, int second, int third,
                                  std::optional<at::ScalarType> result) const {
  const ContractionPlan& p = *plan_;
  const auto [i, j, k] = std::array{static_cast<std::size_t>(first), static_cast<std::size_t>(second),
                                    static_cast<std::size_t>(third)};
  const std::optional<at::ScalarType> type = p.options.compute_type;
  ContractionPlan other{
      {p.indices[i], p.indices[j], p.indices[k]},
      p.parallel,
      {p.read[i], p.read[j], p.read[k]},
      {.rounds = p.options.rounds, .compute_type = type, .result_type = type ? result : std::nullopt},
      p.stream};
  if (other.stream) other.stream->read = {p.stream->read[i], p.stream->read[j], p.stream->read[k]};
  return Contraction(std::make_shared<const ContractionPlan>(std::move(other)));
}

Vector Contraction::operator()(const Vector& x, const Vector& w) const {
  RIESZ_CHECK(x.space() == read(0).domain() && w.space() == read(1).domain(), "contract ",
              detail::spec_of(indices()), " is planned for x and w in\n  ", to_string(read(0).domain()),
              "\n  ", to_string(read(1).domain()), "\nbut is called with vectors of\n  ",
              to_string(x.space()), "\n  ", to_string(w.space()));
  RIESZ_CHECK(
      plan_->options.compute_type || x.local().scalar_type() == w.local().scalar_type(), "contract ",
      detail::spec_of(indices()), ": x has elements of type ", x.local().scalar_type(), " and w of type ",
      w.local().scalar_type(),
      "; they must be of one type, so make x of w's before distribute, such as "
      "by tensor.to(at::kFloat), or w of x's, such as by the layer's initialise(seed, dtype), or give a "
      "compute type (ContractionOptions::compute_type)");
  check_real(*this, "x", x);
  check_real(*this, "w", w);
  check_one_device("contract", x, w);
  if (consistency_checks() && communicates()) {
    detail::check_constancy("x of contract " + detail::spec_of(indices()), x);
    detail::check_constancy("w of contract " + detail::spec_of(indices()), w);
  }
  const Varied varied{!x.is_constant(), !w.is_constant()};
  const bool constant = !varied.x && !varied.w;
  if (constant || !at::GradMode::is_enabled()) return {range(), unrecorded(*this, x, w), constant};
  RIESZ_CHECK(
      !x.local().is_complex() && !w.local().is_complex(), "contract ", detail::spec_of(indices()),
      ": no gradients of complex operands; record none (at::NoGradGuard guard;), or contract their real and "
      "imaginary parts");
  Chain* chain = communicates() ? Chain::current() : nullptr;
  RIESZ_CHECK(chain != nullptr || !communicates(), "contract ", to_string(*this),
              " communicates while gradients are recorded, but outside "
              "a chain: open one around the computation of a loss (riesz::Chain chain;), or record none "
              "(at::NoGradGuard guard;)");
  const SharedX mine = shared_x_in(*this, x, true);
  const at::Tensor token =
      chain != nullptr ? chain->token(x.local().device()) : at::empty({0}, mine.given.options());
  Applied applied = value(*this, mine, w.local(), token, varied);
  leave_to_others(x, read(0), mine);
  if (chain != nullptr) chain->advance(applied.token);
  return {range(), applied.y};
}

Vector contract(const std::string& spec, const Vector& x, const Vector& w, const Space& Y,
                const ContractionOptions& options) {
  static auto& plans = *new detail::PlanCache<PlanOfCall>;
  const auto plan = plans.get(
      [&](const PlanOfCall& made) {
        return made.spec == spec && made.Y == Y && made.options == options &&
               made.form.read(0).domain() == x.space() && made.form.read(1).domain() == w.space();
      },
      [&] {
        return PlanOfCall{spec, Y, options, Contraction(spec, x.space(), w.space(), Y, options)};
      });
  return plan->form(x, w);
}

}  // namespace riesz
