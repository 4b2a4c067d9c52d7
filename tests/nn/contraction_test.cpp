// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/contraction.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/einsum.h>
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "expect.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

const std::vector<std::string> kSpecs{"bi,oi->bo",       "bti,oi->bto", "bthd,bshd->bhts",
                                      "bhts,bshd->bthd", "btv,vc->btc", "bti,i->bti",
                                      "b,o->bo",         ",c->c",       "bti,iqhd->qbthd"};

/// A form on random spaces of some of the workers, in any order.
struct Case {
  Contraction form;
  std::array<Space, 3> spaces;  // X, W, Y*
};

Case random_case(const std::string& spec, RandomSpaces& random) {
  const detail::Indices indices = detail::parse_indices(spec);
  const Partition grid = random.grid(some_workers(random));
  std::map<char, std::pair<std::int64_t, std::int64_t>> sizes;  // extent, unit
  std::vector<Space> spaces;
  for (const std::string& letters : indices) {
    std::vector<std::int64_t> shape;
    for (const char index : letters) {
      const std::int64_t unit = 1 + random.any_of(2);
      shape.push_back(sizes.try_emplace(index, unit * (1 + random.any_of(4)), unit).first->second.first);
    }
    Space S(grid, shape);
    for (int dim = 0; dim < S.dims(); ++dim)
      S = S.unit(dim, sizes.at(letters[static_cast<std::size_t>(dim)]).second);
    spaces.push_back(random.place(S, {Placement::Replicated, Placement::Copied, Placement::Partial}));
  }
  return {Contraction(spec, spaces[0], spaces[1], spaces[2]), {spaces[0], spaces[1], dual(spaces[2])}};
}

Vector element(const Space& X, std::uint64_t seed) {
  Vector x = random_vector(X, seed, true);
  x.local().requires_grad_();
  return x;
}

/// The face of operand k by its definition: the einsum of the vectors that the other two mean.
at::Tensor dense(const Contraction& form, int k, const at::Tensor& a, const at::Tensor& b) {
  const detail::Indices& s = form.indices();
  const auto at = [&](int operand) { return s[static_cast<std::size_t>(operand)]; };
  return at::einsum(at(k == 0 ? 1 : 0) + "," + at(k == 2 ? 1 : 2) + "->" + at(k), {a, b});
}

class OnRandomSpaces : public ::testing::TestWithParam<std::string> {};

TEST_P(OnRandomSpaces, AllThreeFacesAreTheDenseOnes) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto [form, spaces] = random_case(GetParam(), random);
    SCOPED_TRACE(to_string(form) + "\nx in " + to_string(spaces[0]) + "\nw in " + to_string(spaces[1]) +
                 "\ny in " + to_string(form.range()));
    const Vector x = element(spaces[0], 3 * seed);
    const Vector w = element(spaces[1], 3 * seed + 1);
    const Vector ybar = element(spaces[2], 3 * seed + 2);
    const at::Tensor all[] = {meant(x).detach(), meant(w).detach(), meant(ybar).detach()};
    const bool here = x.space().partition().active();

    Chain chain;
    const Vector y = form(x, w);
    const std::vector<Vector> gradients = pullback(y, ybar, {x, w});

    ASSERT_EQ(gradients[0].space(), dual(spaces[0]));
    ASSERT_EQ(gradients[1].space(), dual(spaces[1]));
    EXPECT_TRUE(means(y, here ? dense(form, 2, all[0], all[1]) : at::Tensor()));
    EXPECT_TRUE(means(gradients[0], here ? dense(form, 0, all[1], all[2]) : at::Tensor()));
    EXPECT_TRUE(means(gradients[1], here ? dense(form, 1, all[0], all[2]) : at::Tensor()));
  }
}

TEST_P(OnRandomSpaces, MovesWhatThePlanSays) {
  RandomSpaces random(100 + static_cast<std::uint64_t>(Partition::world().size()));
  Counters& counters = Counters::instance();
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const auto [form, spaces] = random_case(GetParam(), random);
    SCOPED_TRACE(to_string(form));
    const Vector x = element(spaces[0], 3 * seed);
    const Vector w = element(spaces[1], 3 * seed + 1);
    const Vector ybar = element(spaces[2], 3 * seed + 2);

    Chain chain;
    const Traffic before = counters.total();
    const Vector y = form(x, w);
    const Traffic between = counters.total();
    pullback(y, ybar, {x, w});
    const Traffic after = counters.total();

    const int rank = x.space().partition().rank();
    const Traffic forward = rank < 0 ? Traffic{} : form.forward_traffic(rank);
    const Traffic backward = rank < 0 ? Traffic{} : form.backward_traffic(rank);
    EXPECT_EQ((between - before).elements, forward.elements);
    EXPECT_EQ((between - before).messages, forward.messages);
    EXPECT_EQ((between - before).bytes, 8 * forward.elements);
    EXPECT_EQ((after - between).elements, backward.elements);
    EXPECT_EQ((after - between).messages, backward.messages);
  }
}

/// ⟨x̄, u⟩ = T(u, w, ȳ) = ⟨w̄, v⟩ with v for w: the gradients of the gradients are faces again.
TEST_P(OnRandomSpaces, GradientsAreDifferentiableAgain) {
  RandomSpaces random(200 + static_cast<std::uint64_t>(Partition::world().size()));
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto [form, spaces] = random_case(GetParam(), random);
    const Vector x = element(spaces[0], 5 * seed);
    const Vector w = element(spaces[1], 5 * seed + 1);
    const Vector ybar = element(spaces[2], 5 * seed + 2);
    for (const int face : {0, 1}) {
      SCOPED_TRACE("the gradient of operand " + std::to_string(face) + " of " + to_string(form));
      const Vector u = element(spaces[static_cast<std::size_t>(face)], 5 * seed + 3);
      const Vector& other = face == 0 ? w : x;
      const at::Tensor all[] = {meant(u).detach(), meant(other).detach(), meant(ybar).detach()};
      const bool here = x.space().partition().active();

      Chain chain;
      const Vector gradient = pullback(form(x, w), ybar, {face == 0 ? x : w}, true).front();
      const std::vector<Vector> second = pullback(gradient, u, {other, ybar});

      const at::Tensor value =
          here ? dense(form, 2, all[face == 0 ? 0 : 1], all[face == 0 ? 1 : 0]) : at::Tensor();
      EXPECT_TRUE(means(second[0], here ? dense(form, 1 - face, all[0], all[2]) : at::Tensor()));
      EXPECT_TRUE(means(second[1], value));
    }
  }
}

TEST_P(OnRandomSpaces, WithoutGradientTheValueHasTheSameBits) {
  RandomSpaces random(300 + static_cast<std::uint64_t>(Partition::world().size()));
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto [form, spaces] = random_case(GetParam(), random);
    const Vector x = element(spaces[0], 2 * seed);
    const Vector w = element(spaces[1], 2 * seed + 1);

    Chain chain;
    const Vector recorded = form(x, w);
    const at::NoGradGuard guard;
    const Vector plain = form(x, w);

    EXPECT_FALSE(plain.local().requires_grad());
    EXPECT_SAME_BITS(plain.local(), recorded.local());
  }
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) name += std::isalpha(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Contraction, OnRandomSpaces, ::testing::ValuesIn(kSpecs), name_of);

}  // namespace
}  // namespace riesz::testing
