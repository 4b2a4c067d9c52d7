// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include <limits>
#include <string>
#include <vector>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/without_values.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/loss/row_terms.h"
#include "riesz/nn/loss/shares.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/extremes.h"
#include "riesz/nn/vectors/following_space.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/check_input.h"

namespace riesz {
namespace {

/// The logits' space without the vocabulary.
Space rows_space(const Space& S) {
  static auto& plans = *new detail::PlanCache<detail::FollowingSpace>;
  const auto made = [&] {
    std::vector<int> dims;
    for (int dim = 0; dim + 1 < S.dims(); ++dim) dims.push_back(dim);
    return select_dims(S, dims);
  };
  return detail::following(plans, S, {}, made)->Y;
}

void check_fit(const Space& logits, const Space& targets, const CrossEntropyOptions& options) {
  RIESZ_CHECK(logits.dims() >= 1, "cross_entropy: logits need a last dim, the vocabulary, unlike ",
              to_string(logits));
  detail::check_counts_once("cross_entropy", logits);
  RIESZ_CHECK(matches(targets, rows_space(logits)), "cross_entropy: targets of\n  ", to_string(targets),
              "\nfor logits of\n  ", to_string(logits), "\nwhich need targets of\n  ",
              to_string(rows_space(logits)));
  RIESZ_CHECK(options.smoothing >= 0 && options.smoothing <= 1, "cross_entropy: a label smoothing of ",
              options.smoothing, "; it is between 0 and 1");
  RIESZ_CHECK(options.z_loss >= 0, "cross_entropy: a z-loss coefficient of ", options.z_loss,
              "; it is not negative");
}

/// How many targets are counted, and how many of these are wrong, as a tensor of two.
template <typename Number>
at::Tensor counts_of(const at::Tensor& targets, std::int64_t vocabulary, std::int64_t ignore) {
  std::int64_t counted = 0, wrong = 0;
  const Number* const t = targets.const_data_ptr<Number>();
  for (std::int64_t i = 0; i < targets.numel(); ++i) {
    counted += t[i] != ignore;
    wrong += t[i] != ignore && (t[i] < 0 || t[i] >= vocabulary);
  }
  return at::tensor({counted, wrong}, targets.options().dtype(at::kLong));
}

/// Which targets are counted, and are no numbers of the vocabulary.
at::Tensor wrong_ones(const at::Tensor& t, std::int64_t vocabulary, std::int64_t ignore) {
  return at::logical_and(t.ne(ignore), at::logical_or(t.lt(0), t.ge(vocabulary)));
}

at::Tensor counts_by_operators(const at::Tensor& t, std::int64_t vocabulary, std::int64_t ignore) {
  return at::stack({at::sum(t.ne(ignore)), at::sum(wrong_ones(t, vocabulary, ignore))});
}

at::Tensor counts_in_memory(const at::Tensor& t, std::int64_t vocabulary, std::int64_t ignore) {
  if (!t.is_contiguous() || !has_values()) return counts_by_operators(t, vocabulary, ignore);
  return t.scalar_type() == at::kLong ? counts_of<std::int64_t>(t, vocabulary, ignore)
                                      : counts_of<std::int32_t>(t, vocabulary, ignore);
}

/// How many targets are counted. One AllReduce brings this and how many are wrong, so all workers throw
/// alike.
LossCount count_here(const Vector& targets, std::int64_t vocabulary, std::int64_t ignore) {
  const at::Tensor& t = targets.local();
  const at::Tensor counts =
      detail::add_shares(targets.space(), {2}, counts_in_memory(t, vocabulary, ignore), true).local();
  if (!targets.space().partition().active()) return 0;
  if (host_value<std::int64_t>(counts[1], 0) > 0) {
    const auto [least, greatest] = detail::extremes({targets.space(), t.masked_fill(t.eq(ignore), 0)});
    throw_error(concat("cross_entropy: the target ", static_cast<std::int64_t>(least < 0 ? least : greatest),
                       " is outside the vocabulary of ", vocabulary, " and not the ignored ", ignore));
  }
  return host_value(counts[0], c10::multiply_integers(targets.space().shape()));
}

/// The least of this worker's targets that are wrong, or else the greatest.
at::Tensor a_wrong_one(const at::Tensor& t, std::int64_t vocabulary, std::int64_t ignore) {
  if (t.numel() == 0) return at::zeros({}, t.options().dtype(at::kLong));
  const at::Tensor wrong = t.masked_fill(at::logical_not(wrong_ones(t, vocabulary, ignore)), 0);
  const at::Tensor least = at::amin(wrong);
  return at::where(least.lt(0), least, at::amax(wrong)).to(at::kLong);
}

/// The same of a device, where no worker can wait for another's number: it names a target of its own.
LossCount count_there(const Vector& targets, std::int64_t vocabulary, std::int64_t ignore) {
  const at::Tensor& t = targets.local();
  const at::Tensor counts =
      detail::add_shares(targets.space(), {2}, counts_by_operators(t, vocabulary, ignore), true).local();
  if (!targets.space().partition().active()) return 0;
  check_later(
      LateValue(at::stack({counts.select(0, 1), a_wrong_one(t, vocabulary, ignore)})),
      [vocabulary, ignore](const at::Tensor& found) {
        if (host_value<std::int64_t>(found[0], 0) == 0) return;
        const auto wrong = host_value<std::int64_t>(found[1], 0);
        throw_error(concat(
            "cross_entropy: ", wrong == 0 ? "a target of another worker" : concat("the target ", wrong),
            " is outside the vocabulary of ", vocabulary, " and not the ignored ", ignore));
      });
  return LossCount(counts.select(0, 0));
}

const Dispatched<LossCount(const Vector&, std::int64_t, std::int64_t)> counted_targets{count_here,
                                                                                       count_there};

/// Losses as they are: wrong targets have thrown by now.
at::Tensor losses_of_good_targets(const at::Tensor& losses, const at::Tensor&, std::int64_t, std::int64_t) {
  return losses;
}

/// NaN for wrong targets, and by a factor, so that it goes back to each gradient.
at::Tensor losses_with_nan(const at::Tensor& losses, const at::Tensor& targets, std::int64_t vocabulary,
                           std::int64_t ignore) {
  return losses.mul(
      at::ones(losses.sizes(), losses.options())
          .masked_fill_(wrong_ones(targets, vocabulary, ignore), std::numeric_limits<double>::quiet_NaN()));
}

const Dispatched<at::Tensor(const at::Tensor&, const at::Tensor&, std::int64_t, std::int64_t)>
    losses_that_count{losses_of_good_targets, losses_with_nan};

struct RowShares {
  Space S;
  Operator sum;
};

/// The workers' shares of two numbers a row, added over the axes that shard the vocabulary.
at::Tensor sum_of_shares(const Space& S, const std::vector<std::string>& axes, const at::Tensor& shares,
                         bool constant) {
  static auto& plans = *new detail::PlanCache<RowShares>;
  const auto plan = plans.get([&](const RowShares& made) { return made.S == S; },
                              [&] {
                                const Space whole = insert_dim(rows_space(S), 0, 2);
                                Space terms = whole;
                                for (const std::string& axis : axes) terms = terms.partial(axis);
                                return RowShares{S, between(terms, whole)};
                              });
  return plan->sum(Vector(plan->sum.domain(), shares, constant)).local();
}

/// The loss of each row. Σ exp and the wanted logit are taken relative to the row's greatest logit, so that
/// large logits lose no digits; the workers' shares of both go in one AllReduce.
at::Tensor row_losses(const Vector& logits, const at::Tensor& targets, const CrossEntropyOptions& options) {
  const Space& S = logits.space();
  const at::Tensor& x = logits.local();
  const bool constant = logits.is_constant();
  const Partition& P = S.partition();
  const bool here = P.active();
  const Intervals held = here ? S.boxes(P.rank()).back() : Intervals{};
  const std::vector<std::string> axes = sharding_axes(S, S.dims() - 1);
  if (!here) {
    const at::Tensor none = detail::to_accumulation_type(x);
    if (!axes.empty()) all_max(P, axes, none), sum_of_shares(S, axes, none, constant);
    return none;
  }
  const detail::RowSums sums = detail::sums_of_last_dim(x);
  const at::Tensor greatest = axes.empty() ? sums.greatest : all_max(P, axes, sums.greatest);
  detail::RowTerms row =
      detail::row_terms(x, sums, greatest, {targets, options.smoothing, S.shape().back()}, held);
  if (!axes.empty()) {
    const at::Tensor all = sum_of_shares(S, axes, at::stack({row.sum, row.wanted}), constant);
    row = {all.select(0, 0), all.select(0, 1)};
  }
  const at::Tensor log_sum = at::log(row.sum);
  const at::Tensor losses = log_sum.sub(row.wanted);
  return options.z_loss == 0 ? losses : losses.add(log_sum.add(greatest).square(), options.z_loss);
}

}  // namespace

Loss cross_entropy(const Vector& logits, const Vector& targets, const CrossEntropyOptions& options) {
  const Space& S = logits.space();
  check_fit(S, targets.space(), options);
  const at::ScalarType type = targets.local().scalar_type();
  RIESZ_CHECK(type == at::kLong || type == at::kInt, "cross_entropy: targets of type ", type,
              "; they are numbers of the vocabulary, so give whole ones, such as by tensor.to(at::kLong)");
  check_one_device("cross_entropy", logits, targets);
  detail::check_operand("cross_entropy: the vector of targets", targets);
  const at::Device device = targets.local().device();
  const LossCount count = counted_targets(device, targets, S.shape().back(), options.ignore);
  at::Tensor losses = row_losses(logits, targets.local(), options);
  if (S.partition().active())
    losses = losses_that_count(device, losses, targets.local(), S.shape().back(), options.ignore);
  const at::Tensor counted = losses.masked_fill(targets.local().eq(options.ignore), 0);
  return {detail::add_shares(targets.space(), {}, at::sum(counted), logits.is_constant()), count};
}

}  // namespace riesz
