// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A model with roles of its own, two kinds of heads, a mask for each head and an auxiliary loss: the same at
// every layout.
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/module.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/optim/sgd.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/scale.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 5, T = 7, N = 9, kWords = 11;

const Role& frames() {
  static const Role role("frames", Role::sequence);
  return role;
}

const Role& expert() {
  static const Role role("expert", {.inside = {"ep"}, .weight_in = {"ep"}, .weight_out = {"ep"}});
  return role;
}

/// Of n frames, heads h of d and key heads g; of t tokens, heads i of k and key heads j; p by r is a table.
Roles own_roles() {
  return {{'b', {Role::batch}},
          {'t', {Role::sequence}},
          {'n', {frames()}},
          {'c', {Role::width, 12}},
          {'h', {Role::heads, 6}},
          {'g', {Role::key_value_heads, 3, 'h'}},
          {'d', {Role::whole, 2}},
          {'i', {Role::heads, 4}},
          {'j', {Role::key_value_heads, 2, 'i'}},
          {'k', {Role::whole, 3}},
          {'f', {Role::inner, 7}},
          {'e', {expert(), 3}},
          {'p', {Role::whole, T}},
          {'r', {Role::whole, T}},
          {'x', {Role("pixels", Role::whole), 5}},
          {'v', {Role::vocabulary, kWords}}};
}

/// The stream, and the sum of the auxiliary losses so far.
struct Routed {
  Vector x;
  Vector loss;

  template <typename F>
  void each_vector(F&& f) {
    f(x), f(loss);
  }
};

/// (B, N, C) → (B, N, C): all frames see all.
class FrameBlock : public Layer<FrameBlock> {
 public:
  explicit FrameBlock(OwnerAndName place) : Layer(std::move(place)) {}
  Vector forward(const Vector& x) { return x + o_(attend_(q_(x), k_(x), v_(x))); }
  std::string describe() const override { return "block of frames"; }

 private:
  Linear q_{*this, "q", "bnc,chd->bnhd"};
  Linear k_{*this, "k", "bnc,cgd->bngd"};
  Linear v_{*this, "v", "bnc,cgd->bngd"};
  Attention attend_{*this, "attend", {.queries = "bnhd", .keys = "bngd"}};
  Linear o_{*this, "o", "bnhd,hdc->bnc"};
};

/// (B, T, C) → (B, T, C): every token to every expert, weighed by a gate; the loss is the mean square of
/// gates.
class AllExperts : public Layer<AllExperts> {
 public:
  AllExperts(Module& owner, const std::string& name) : Layer({owner, name}) {}
  Routed forward(const Vector& x) {
    const Vector gates = gate_(x);
    return {down_(mul(gelu(up_(x)), "btef", gates, "bte")), mean(square(gates), {}, {.all_reduce = true})};
  }
  std::string describe() const override { return "experts"; }

 private:
  Linear gate_{*this, "gate", "btc,ec->bte", {.initial = Initial::normal(0.5)}};
  Linear up_{*this, "up", "btc,efc->btef", {.initial = Initial::normal(0.5)}};
  Linear down_{*this, "down", "btef,ecf->btc", {.initial = Initial::normal(0.5)}};
};

/// Tokens see the tokens before, by a bias for each head, and all frames; then experts.
class TokenBlock : public Layer<TokenBlock> {
 public:
  explicit TokenBlock(OwnerAndName place) : Layer(std::move(place)) {}
  Routed forward(const Routed& in, const Vector& frames) {
    Vector x = in.x;
    const AttentionCall biased{.mask = AttentionMask(bias_.value(), "hts")};
    x = x + o_(attend_(q_(x), k_(x), v_(x), biased));
    x = x + seen_o_(see_(seen_q_(x), seen_k_(frames), seen_v_(frames)));
    const Routed out = experts_(norm_(x));
    return {x + out.x, in.loss + out.loss};
  }
  std::string describe() const override { return "block of tokens"; }

 private:
  Linear q_{*this, "q", "btc,cik->btik"};
  Linear k_{*this, "k", "btc,cjk->btjk"};
  Linear v_{*this, "v", "btc,cjk->btjk"};
  Parameter bias_{parameter("bias", spaces().weight("bipr,ipr->bipr"), {Initial::normal(1)})};
  Attention attend_{*this, "attend", {.queries = "btik", .keys = "btjk", .causal = true}};
  Linear o_{*this, "o", "btik,ikc->btc"};
  Linear seen_q_{*this, "seen_q", "btc,cik->btik"};
  Linear seen_k_{*this, "seen_k", "bnc,cjk->bnjk"};
  Linear seen_v_{*this, "seen_v", "bnc,cjk->bnjk"};
  Attention see_{*this, "see", {.queries = "btik", .keys = "bnjk"}};
  Linear seen_o_{*this, "seen_o", "btik,ikc->btc"};
  LayerNorm norm_{*this, "norm", "btc"};
  AllExperts experts_{*this, "experts"};
};

/// Pixels of frames (B, N, X) and tokens (B, T) → logits (B, T, V) and a loss.
class Captioner : public Layer<Captioner> {
 public:
  explicit Captioner(const ModelSpaces& spaces) : Layer("", spaces) {}

  Routed forward(const Vector& pixels, const Vector& tokens) {
    const Vector frames = frame_blocks_(project_(pixels));
    const Vector none = distribute(Space(spaces().mesh(), {}), at::zeros({}, at::kDouble));
    const Routed out = token_blocks_(Routed{embed_(tokens), none}, frames);
    return {head_(norm_(out.x)), out.loss};
  }
  std::string describe() const override { return "captioner"; }
  Space tokens() const { return embed_.spaces().stream("bt"); }
  Space pixels() const { return *project_.domain(); }

 private:
  Linear project_{*this, "project", "bnx,cx->bnc"};
  Repeated<FrameBlock> frame_blocks_{*this, "frames", 1};
  Embedding embed_{*this, "embed", "bt,vc->btc", Initial::normal(0.5)};
  Repeated<TokenBlock> token_blocks_{*this, "tokens", 2};
  LayerNorm norm_{*this, "norm", "btc"};
  Linear head_{*this, "head", "btc,vc->btv"};
};

at::Tensor words(int step) {
  const at::Tensor i = at::arange(B * T, at::kLong).add(17 * step + 3);
  return at::remainder(i.mul(i).add(i), kWords).view({B, T});
}

TrainingRun train_captioner(const ModelSpaces& spaces, bool again) {
  Captioner model(spaces);
  model.initialise(7, at::kDouble);
  if (again) set_recompute(model, {.regions = RecomputePolicy::Regions::blocks});
  TrainingRun run;
  run.add_initial(model);
  SGD optimizer(whole(model.parameters()), {.learning_rate = 0.1});
  const at::Tensor seen = at::arange(B * N * 5, at::kDouble).sin().view({B, N, 5});
  for (int step = 0; step < 3; ++step) {
    Chain chain;
    const Routed out = model(distribute(model.pixels().with_shape({B, N, 5}), seen.add(step)),
                             distribute(model.tokens().with_shape({B, T}), words(step)));
    const Space aims = spaces.inside("bt").with_shape({B, T});
    const Vector loss = cross_entropy(out.x, distribute(aims, words(step + 1))).mean() + out.loss;
    backward(loss);
    run.results["loss of step " + std::to_string(step)] = TrainingRun::gathered(model, loss);
    run.results["auxiliary loss of step " + std::to_string(step)] = TrainingRun::gathered(model, out.loss);
    if (step == 0) run.add_gradients(model);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(model);
  return run;
}

std::vector<Layout> own_layouts() {
  using namespace spaces;
  const int p = Runtime::size();
  const auto grid = [](const std::vector<Axis>& axes) { return Partition::world().grid(axes); };
  std::vector<Layout> all{one_d(grid({{"dp", p}})), one_d(grid({{"tp", p}})),
                          one_d(grid({{"ep", p}})), sequence_parallel(grid({{"tp", p}})),
                          ring(grid({{"sp", p}})),  ulysses(grid({{"sp", p}}))};
  if (p % 2 == 0 && p > 2) {
    all.push_back(two_d(grid({{"row", 2}, {"column", p / 2}})));
    all.push_back(one_d(grid({{"dp", 2}, {"ep", p / 2}})));
    all.push_back(sequence_parallel(grid({{"ep", 2}, {"tp", p / 2}})));
    all.push_back(ulysses(grid({{"sp", 2}, {"ep", p / 2}})));
  }
  if (p == 8) all.push_back(three_d(grid({{"a", 2}, {"b", 2}, {"c", 2}})));
  if (p == 8) all.push_back(two_d(grid({{"ep", 2}, {"row", 2}, {"column", 2}})));
  return all;
}

TEST(OwnRoles, AreTheSameAtEveryLayout) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  const TrainingRun one_worker = train_captioner({spaces::one_d(alone), own_roles()}, false);
  bool again = false;
  for (const Layout& layout : own_layouts())
    EXPECT_TRUE(compare_runs(train_captioner({layout, own_roles()}, again = !again), one_worker))
        << layout.name << " on " << to_string(layout.mesh);
}

Space on(const Layout& layout, const std::string& letters) {
  return ModelSpaces(layout, own_roles()).stream_or_inside(letters);
}

TEST(OwnRoles, LieAsTheyAndTheLayoutSay) {
  const Partition mesh = Partition::simulated(12).grid({{"dp", 2}, {"ep", 3}, {"tp", 2}});
  const Layout layout = spaces::one_d(mesh);
  const Space any(mesh, {Space::any, Space::any, 12});
  EXPECT_EQ(on(layout, "bnc"), any.sharded(0, "dp"));
  // with experts it is no stream, though it has the width
  EXPECT_EQ(on(layout, "ebc"), Space(mesh, {3, Space::any, 12}).sharded(0, "ep").sharded(1, "dp"));
  const Partition rows = Partition::simulated(4).grid({{"sp", 4}});
  EXPECT_EQ(on(spaces::ring(rows), "bnc"), Space(rows, {Space::any, Space::any, 12}).zigzag(1, "sp"));

  // An entry of the layout counts, and an axis shards one dim: that of the role with axes of its own.
  Layout other = layout;
  other.places[Role::batch] = {.stream = {"dp", "ep"}, .inside = {"dp", "ep"}};
  EXPECT_EQ(on(other, "bnc"), any.sharded(0, "dp").sharded(0, "ep"));
  EXPECT_EQ(on(other, "ebc"), on(layout, "ebc"));
  other.places[expert()] = {};
  EXPECT_EQ(on(other, "ebc"), Space(mesh, {3, Space::any, 12}).sharded(1, "dp").sharded(1, "ep"));
}

/// Also where another letter comes first, in vectors and weights, and for a role that lies like it.
TEST(OwnRoles, AnAxisOfItsOwnIsTheRolesWhateverTheLetters) {
  const Partition mesh = Partition::simulated(12).grid({{"dp", 2}, {"ep", 3}, {"tp", 2}});
  Layout layout = spaces::one_d(mesh);
  for (const Role& role : {Role::batch, Role::inner})
    for (ShardingAxes* axes : {&layout.places[role].inside, &layout.places[role].weight_out})
      axes->push_back("ep");
  Roles roles = own_roles();
  for (const Role& role : {expert(), Role("specialist", expert())}) {
    roles['e'] = {role, 3};
    const ModelSpaces placed(layout, roles);
    const Space inside = Space(mesh, {Space::any, 3}).sharded(0, "dp").sharded(1, "ep");
    EXPECT_EQ(placed.inside("be"), inside);
    const Space W = Space(mesh, {7, 3, 12}).sharded(0, "tp").sharded(1, "ep");
    EXPECT_EQ(placed.weight("btc,fec->btef"), W);
    EXPECT_NO_THROW(ModelSpaces(spaces::one_d(mesh), roles));  // it uses ep
  }
}

/// Whole sequences of some of the heads, where attention is computed; before it and after, some tokens.
TEST(OwnRoles, AttendByHeadsWhereTheSequenceIsUlysses) {
  const Partition mesh = Partition::simulated(4).grid({{"tp", 2}, {"sp", 2}});
  const ModelSpaces spaces(spaces::ulysses(mesh), own_roles());
  const Space any(mesh, {Space::any, Space::any, 6, 2});
  EXPECT_EQ(spaces.attending("bnhd"), any.sharded(2, "tp").sharded(2, "sp"));
  EXPECT_EQ(spaces.inside("bnhd"), any.sharded(1, "sp").sharded(2, "tp"));
}

/// Each kind of key heads lies with its own query heads: 6 and 4 over 2 workers, of 3 and of 2 key heads.
TEST(OwnRoles, TwoKindsOfHeadsPairEachWithItsOwn) {
  const Partition mesh = Partition::simulated(2).grid({{"tp", 2}});
  const ModelSpaces spaces(spaces::one_d(mesh), own_roles());
  const auto held = [&](const std::string& letters, int worker) {
    return spaces.inside(letters).held(2, {worker});
  };
  EXPECT_EQ(held("bngd", 0), (Intervals{{0, 2}}));  // query heads 0 to 2, two to a key head
  EXPECT_EQ(held("bngd", 1), (Intervals{{1, 3}}));
  EXPECT_EQ(held("btjk", 0), (Intervals{{0, 1}}));
  EXPECT_EQ(held("btjk", 1), (Intervals{{1, 2}}));
}

TEST(OwnRoles, SayWhatDoesNotFit) {
  const Layout layout = spaces::one_d(Partition::simulated(2).grid({{"ep", 2}}));
  EXPECT_ERROR(Role("", Role::whole), "Role: \"\" is no name");
  EXPECT_ERROR(Role("width", Role::whole), "Role: \"width\" is no name", "none of batch");
  Roles roles = own_roles();
  roles['y'] = {Role("frames", Role::whole), 2};
  EXPECT_ERROR(ModelSpaces(layout, roles), "the dims n and y have roles of one name, frames");
  roles['n'] = {Role("film", Role("frames", Role::sequence))};
  roles['y'] = {Role("film", Role("frames", Role::whole)), 2};
  EXPECT_ERROR(ModelSpaces(layout, roles), "the dims n and y have roles of one name, film");
  roles['y'].role = Role("film", Role("frames", Role::sequence));
  EXPECT_NO_THROW(ModelSpaces(layout, roles));
  roles = own_roles();
  roles['j'].of = 0;
  EXPECT_ERROR(ModelSpaces(layout, roles), "the key and value heads j", "query heads h, i",
               "Dim{Role::key_value_heads, 2, 'h'}");
  roles['j'].of = 'c';
  EXPECT_ERROR(ModelSpaces(layout, roles), "are those of the letter c, which is no letter of query heads",
               "there are h, i");
  roles = own_roles();
  roles.erase('e');
  EXPECT_ERROR(ModelSpaces(layout, roles), "spaces::one_d", "has an axis ep", "does not use");
  EXPECT_NO_THROW(ModelSpaces(layout, own_roles()));
}

}  // namespace
}  // namespace riesz::testing
