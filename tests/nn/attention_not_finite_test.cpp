// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A score that is not a number makes the rows that see it NaN, by whatever way attention is computed.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "expect.h"
#include "expect_attention.h"
#include "riesz/nn/attention/row_attention.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

// T is a multiple of a processor's lanes, which torch's kernel takes otherwise than the rest of a row.
constexpr std::int64_t B = 3, T = 32, H = 2, D = 16, kRow = 9, kHead = 1;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// What a score is not finite by: one position of q or k, or of both, whose product is too large.
struct Fault {
  std::string name;
  double query = 0;
  double key = 0;

  void put(at::Tensor& q, at::Tensor& k) const {
    const auto at_fault = [](at::Tensor& x) { return x.select(1, kRow).select(1, kHead).select(1, 3); };
    if (query != 0) at_fault(q).fill_(query);
    if (key != 0) at_fault(k).fill_(key);
  }
};

struct Way {
  std::string name;
  AttentionOptions options;
  at::Tensor hidden;                             // of (T, T) or (B, 1, T, T)
  at::Tensor bias = at::zeros({}, at::kDouble);  // added
};

std::vector<Way> ways(const Partition& mesh) {
  const at::Tensor none = at::zeros({T, T}, at::kBool), later = hidden_causally(T, T);
  const at::Tensor keys = padded_keys(B, T), padding = keys.logical_not().unsqueeze(1).unsqueeze(1);
  at::Tensor seen = draws({T, T}, 5).gt(-0.4);
  seen.select(0, 0).fill_(false);
  const at::Tensor added = draws({T, T}, 7);
  at::Tensor spoilt = added.clone();
  spoilt.select(0, kRow).select(0, 4).fill_(kNaN);
  const auto mask = [&](const at::Tensor& x) { return distribute(Space(mesh, {T, T}), x); };
  const Vector padded = distribute(Space(mesh, {B, T}), keys);
  return {{"whole", {}, none},
          {"causal", {.causal = true}, later},
          {"windowed", {.causal = true, .window = 5}, hidden_causally(T, T, 0, 5)},
          {"padded", {.seen = padded}, padding},
          {"causal and padded", {.causal = true, .seen = padded}, padding.logical_or(later)},
          {"masked", {.mask = mask(seen)}, seen.logical_not()},
          {"masked and padded", {.mask = mask(seen), .seen = padded}, seen.logical_not().logical_or(padding)},
          {"added", {.causal = true, .mask = mask(added)}, later, added},
          {"added NaN", {.causal = true, .mask = mask(spoilt)}, later, spoilt}};
}

void expect_nan_where_seen(const Space& X, at::ScalarType type, const Fault& fault, const Way& way) {
  SCOPED_TRACE(std::string(at::toString(type)) + ", " + fault.name + ", " + way.name + ", " +
               riesz::to_string(X));
  std::vector<at::Tensor> global;
  for (const std::uint64_t seed : {1, 2, 3}) global.push_back(draws(X.shape(), seed).to(type));
  fault.put(global[0], global[1]);
  std::vector<Vector> inputs;
  for (const at::Tensor& x : global) inputs.push_back(leaf(X, x));
  const at::Tensor ones = at::ones(X.shape(), type);
  Chain chain;
  const Vector y = attention(inputs[0], inputs[1], inputs[2], way.options);
  const std::vector<Vector> bars = pullback(y, distribute(dual(X), ones), inputs);

  // As scores are computed, in which a product may be too large.
  const auto wide = [&](const at::Tensor& x) { return x.to(type == at::kDouble ? type : at::kFloat); };
  const at::Tensor expected =
      attention_formula(wide(global[0]), wide(global[1]), wide(global[2]), 1 / std::sqrt(1.0 * D),
                        wide(way.bias), way.hidden, at::ones({}, at::kDouble))
          .to(at::kDouble);
  const at::Tensor value = full_tensor(y).to(at::kDouble), bad = expected.isnan();
  EXPECT_TRUE(value.isnan().equal(bad));
  EXPECT_TRUE(is_close(value.masked_fill(bad, 0), expected.masked_fill(bad, 0), 0.05));
  // A row that is NaN has no gradient, and neither have the keys and values that it sees.
  const at::Tensor rows = bad.any(3);
  const at::Tensor sees = way.hidden.logical_not().expand({B, 1, T, T});
  const at::Tensor seen = rows.transpose(1, 2).unsqueeze(3).logical_and(sees).any(2).transpose(1, 2);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const at::Tensor bar = full_tensor(Vector(X, bars[i].local())).isnan().any(3);
    const at::Tensor must = i == 0 ? rows : seen;
    EXPECT_TRUE(bar.logical_or(must.logical_not()).all().item<bool>()) << "by operand " << i;
  }
  if (!bad.any().item<bool>()) {
    EXPECT_FALSE(full_tensor(Vector(X, bars[0].local())).isnan().any().item<bool>());
  }
}

TEST(AttentionOfWhatIsNotFinite, IsNaNForTheRowsThatSeeIt) {
  const Partition mesh = Partition::world().grid({{"sp", Partition::world().size()}});
  const Space X(mesh, {B, T, H, D});
  const std::vector<Space> places{X.zigzag(1, "sp"), X.sharded(2, "sp"), X.sharded(0, "sp")};
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    std::vector<Fault> faults{{"none"}, {"NaN in q", kNaN}, {"NaN in k", 0, kNaN}};
    if (type == at::kFloat || type == at::kBFloat16) faults.push_back({"too large a product", 1e20, 1e20});
    for (const Space& place : places) {
      for (const Way& way : ways(mesh)) {
        for (const Fault& fault : faults) expect_nan_where_seen(place, type, fault, way);
      }
    }
  }
}

TEST(AttentionOfWhatIsNotFinite, IsNaNInSeveralThreads) {
  const Partition mesh = Partition::world().grid({{"sp", Partition::world().size()}});
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  for (const at::ScalarType type : {at::kFloat, at::kHalf}) {
    for (const Fault& fault : {Fault{"none"}, Fault{"NaN in q", kNaN}, Fault{"NaN in k", 0, kNaN}}) {
      for (const Way& way : ways(mesh))
        expect_nan_where_seen(Space(mesh, {B, T, H, D}).sharded(2, "sp"), type, fault, way);
    }
  }
  at::set_num_threads(before);
}

TEST(AttentionOfWhatIsNotFinite, IsNaNByAnyElementOfARow) {
  const Partition alone = Partition::simulated(1);
  for (const std::int64_t d : {7, 16, 40}) {
    const Space X(alone, {1, 2, H, d});
    for (std::int64_t element = 0; element < d; ++element) {
      for (const bool in_query : {false, true}) {
        at::Tensor q = draws(X.shape(), 1).to(at::kFloat), k = q.clone();
        (in_query ? q : k).select(1, 1).select(1, kHead).select(1, element).fill_(kNaN);
        const at::Tensor y =
            attention(Vector(X, q), Vector(X, k), Vector(X, draws(X.shape(), 2).to(at::kFloat))).local();
        EXPECT_TRUE(y.select(1, 1).select(1, kHead).isnan().all().item<bool>()) << element << " of " << d;
        EXPECT_FALSE(y.select(2, 0).isnan().any().item<bool>());
      }
    }
  }
}

TEST(AttentionOfWhatIsNotFinite, IsNaNForOneRow) {
  const at::NoGradGuard no_gradient;
  const Space Q(Partition::simulated(1), {1, 1, H, D}), K(Partition::simulated(1), {1, T, H, D});
  for (const std::int64_t at : {0, 9, 31}) {
    for (const bool in_query : {false, true}) {
      const auto floats = [](const Space& X) { return draws(X.shape(), 1).to(at::kFloat); };
      at::Tensor q = floats(Q), k = floats(K);
      (in_query ? q.select(1, 0) : k.select(1, at)).select(1, kHead).select(1, 3).fill_(kNaN);
      ASSERT_TRUE(detail::is_row_attention(q, k, k));
      const at::Tensor y = attention(Vector(Q, q), Vector(K, k), Vector(K, floats(K))).local();
      EXPECT_TRUE(y.select(2, kHead).isnan().all().item<bool>());
      EXPECT_FALSE(y.select(2, 0).isnan().any().item<bool>());
    }
  }
}

}  // namespace
}  // namespace riesz::testing
