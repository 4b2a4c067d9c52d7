// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/faces.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "riesz/comm/dispatched.h"
#include "riesz/nn/contraction/compute_copy.h"
#include "riesz/nn/contraction/on_its_way.h"
#include "riesz/nn/contraction/panels.h"
#include "riesz/nn/contraction/product.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz::detail {
namespace {

/// Operand k. A parameter's is made once and kept; others live too short for that.
at::Tensor in_type(const ContractionPlan& plan, std::size_t k, const at::Tensor& x) {
  const std::optional<at::ScalarType>& type = plan.options.compute_type;
  if (!type || x.scalar_type() == *type) return x;
  const bool kept = k == 1 && plan.options.w_is_parameter && x.is_leaf() && !x.is_inference() &&
                    x.has_storage() && x.numel() > 0;
  return kept ? compute_copy(x, *type) : x.to(*type);
}

/// Rows from where Intel's library asks for them: of small matrices from elsewhere its products differ in the
/// last bits.
at::Tensor aligned_in_memory(const at::Tensor& rows) {
  constexpr std::uintptr_t kBoundary = 64;
  const bool there = reinterpret_cast<std::uintptr_t>(rows.const_data_ptr()) % kBoundary == 0;
  return there ? rows : rows.clone();
}

at::Tensor as_it_lies(const at::Tensor& rows) { return rows; }

const Dispatched<at::Tensor(const at::Tensor&)> aligned{aligned_in_memory, as_it_lies};

/// An operand that is read: whole at the first panel, or a panel each time, one ahead. Made contiguous and
/// aligned: a kernel's last bits depend on both, and replicas must agree bit for bit.
class Reader {
 public:
  Reader(const ContractionPlan& plan, std::size_t k, const at::Tensor& stored, at::Tensor& gathered)
      : plan_(plan), k_(k), gathered_(gathered) {
    if (!stored.defined() || gathered.defined()) return;
    stored_ = in_type(plan, k, stored).contiguous();
    if (!plan.streams(k) && !plan.read[k].sends()) stored_ = aligned(stored_.device(), stored_);
  }

  void begin(std::size_t panel) {
    if (panel >= plan_.reads(k_) || gathered_.defined()) return;
    next_.emplace(plan_.read_of(k_, panel), panel_of(plan_, k_, panel, stored_));
  }

  at::Tensor take() {
    if (gathered_.defined()) return gathered_;
    at::Tensor part = std::exchange(next_, std::nullopt)->take();
    if (!plan_.streams(k_)) gathered_ = part;
    return part;
  }

 private:
  const ContractionPlan& plan_;
  std::size_t k_;
  at::Tensor stored_;
  at::Tensor& gathered_;
  std::optional<OnItsWay> next_;
};

/// A face that is written: its products' sum after the last panel, while the other face's is made, or a panel
/// each time, one behind.
class Writer {
 public:
  Writer(const ContractionPlan& plan, std::size_t k, const at::Tensor& stored, SharedFace* shared)
      : plan_(plan),
        k_(k),
        shared_(shared),
        product_(shared ? std::exchange(shared->sum, {}) : at::Tensor()) {
    if (!plan.options.compute_type) return;
    type_ = stored.defined() ? stored.scalar_type()
                             : plan.options.result_type.value_or(*plan.options.compute_type);
  }

  void add(const Operands& parts, std::size_t panel, bool last) {
    const std::size_t i = k_ == 0 ? 1 : 0;
    const std::size_t j = k_ == 2 ? 1 : 2;
    const Indices& s = plan_.indices;
    of_products_ = parts[j].scalar_type();
    if (!plan_.read[k_].range().partition().active())
      product_ = at::empty({0}, parts[j].options());
    else if (product_.defined() && product_.scalar_type() == of_products_)
      add_local_product(s[i], s[j], s[k_], parts[i], parts[j], product_);
    else
      begin_or_add(local_product(s[i], s[j], s[k_], parts[i], parts[j]));
    if (plan_.streams(k_))
      write(panel);
    else if (last && shared_ && !shared_->write)
      shared_->sum = std::exchange(product_, at::Tensor());
    else if (last)
      last_.emplace(adjoint(plan_.read[k_]), to_be_written());
  }

  /// Undefined if another writes it.
  at::Tensor take() {
    if (shared_ && !shared_->write) return {};
    if (!plan_.streams(k_)) return of_type(last_->take());
    land();
    return of_type(result_);
  }

 private:
  /// A half type would round the last of many panels away.
  void begin_or_add(const at::Tensor& product) {
    if (product_.defined())
      product_.add_(product);
    else
      product_ = plan_.stream && !plan_.streams(k_) ? to_accumulation_type(product) : product;
  }

  void write(std::size_t panel) {
    land();
    panel_ = panel;
    last_.emplace(adjoint(plan_.stream->read[k_][panel]), to_be_written());
  }

  /// Workers' terms are summed in the wider type.
  at::Tensor to_be_written() {
    const at::Tensor product = std::exchange(product_, at::Tensor());
    return product.to(type_ ? c10::promoteTypes(*type_, of_products_) : of_products_);
  }

  at::Tensor of_type(const at::Tensor& face) const { return type_ ? face.to(*type_) : face; }

  void land() {
    if (!last_) return;
    const at::Tensor part = std::exchange(last_, std::nullopt)->take();
    if (!result_.defined()) result_ = at::empty(plan_.read[k_].domain().local_shape(), part.options());
    if (plan_.read[k_].domain().partition().active()) panel_of(plan_, k_, panel_, result_).copy_(part);
  }

  const ContractionPlan& plan_;
  std::size_t k_;
  SharedFace* shared_;
  std::optional<at::ScalarType> type_;  // of the face, where the plan computes in a type of its own
  at::Tensor product_;
  at::ScalarType of_products_ = at::kFloat;  // of each of them
  std::optional<OnItsWay> last_;
  std::size_t panel_ = 0;
  at::Tensor result_;
};

}  // namespace

Operands faces(const ContractionPlan& plan, const std::vector<std::size_t>& wanted, Operands stored,
               Operands& gathered, SharedFace* shared_x) {
  const at::NoGradGuard no_gradient;
  const auto is_wanted = [&](std::size_t k) {
    return std::find(wanted.begin(), wanted.end(), k) != wanted.end();
  };
  std::vector<Writer> writers;
  for (const std::size_t k : wanted) writers.emplace_back(plan, k, stored[k], k == 0 ? shared_x : nullptr);
  std::array<std::optional<Reader>, 3> readers;
  for (const std::size_t k : {2U, 0U, 1U}) {
    // Of two faces each reads what the other computes.
    if (!is_wanted(k) || wanted.size() > 1) readers[k].emplace(plan, k, stored[k], gathered[k]);
    if (readers[k]) readers[k]->begin(0);
  }
  const std::size_t panels = plan.stream ? plan.stream->panels.size() : 1;
  for (std::size_t panel = 0; panel < panels; ++panel) {
    Operands parts;
    for (const std::size_t k : {2U, 0U, 1U}) {
      if (!readers[k]) continue;
      parts[k] = readers[k]->take();
      if (plan.streams(k)) readers[k]->begin(panel + 1);
    }
    if (wanted.size() > 1 && parts[2].dim() == static_cast<std::int64_t>(plan.indices[2].size())) {
      parts[2] = laid_out_as_product(plan.indices[0], plan.indices[1], plan.indices[2], parts[2]);
      if (!plan.streams(2)) gathered[2] = parts[2];  // once for all panels
    }
    for (std::size_t i = 0; i < writers.size(); ++i) {
      writers[i].add(parts, panel, panel + 1 == panels);
      const bool x_is_read = i == 0 && wanted.size() > 1 && wanted[0] == 1 && !plan.stream && !shared_x;
      if (x_is_read) readers[0].reset(), parts[0].reset(), gathered[0].reset(), stored[0].reset();
    }
  }
  Operands results;
  for (std::size_t i = 0; i < wanted.size(); ++i) results[wanted[i]] = writers[i].take();
  return results;
}

}  // namespace riesz::detail
