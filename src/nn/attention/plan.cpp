// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/plan.h"

#include <algorithm>
#include <array>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/partition/space_dims.h"
#include "riesz/partition/vector.h"

namespace riesz::detail {
namespace {

constexpr int kBatch = 0, kSequence = 1, kHeads = 2, kWidth = 3;
constexpr std::array<const char*, 4> kNames{"batch", "sequence", "heads", "head width"};

std::string both(const Space& Q, const Space& K) {
  return "\n  q in      " + to_string(Q) + "\n  k, v in   " + to_string(K) + "\n";
}

void check_shapes(const Space& Q, const Space& K) {
  RIESZ_CHECK(Q.dims() == 4 && K.dims() == 4,
              "attention takes q of (B, T, heads, d), k and v of (B, S, heads, d), not", both(Q, K));
  RIESZ_CHECK(Q.partition() == K.partition(), "attention: q, k and v lie on different partitions;",
              both(Q, K), "bring k and v to q's with between(X, Y)");
  for (const int dim : {kBatch, kHeads, kWidth}) {
    const auto d = static_cast<std::size_t>(dim);
    const std::int64_t of_q = Q.shape()[d], of_k = K.shape()[d];
    const bool grouped = dim == kHeads && of_k > 0 && of_q % of_k == 0;
    RIESZ_CHECK(of_q == of_k || grouped, "attention: q has ", of_q, " and k has ", of_k, " in the ",
                kNames[d], ", dim ", dim, ";", both(Q, K),
                "they must agree in all but the sequence, and but that k may have fewer heads, of which q's "
                "are a multiple");
  }
  check_not_partial("attention", Q);
  check_not_partial("attention", K);
}

/// Such as "Sharded(2)" or "Copied".
std::string lies(const Space& X, int axis) {
  const int dim = X.dim_of(axis);
  return dim < 0 ? to_string(X.placement(axis)) : concat("Sharded(", dim, ")");
}

/// What k and v may be on an axis, given q: a dim that they are sharded on, and whether Copied, or read as
/// Copied.
struct AllowedKeys {
  int dim = -1;
  bool copied = false;
  bool replicated = false;
};

AllowedKeys allowed_keys(const Space& Q, int axis) {
  const int dim = Q.dim_of(axis);
  if (dim == kBatch) return {.dim = kBatch};
  if (dim == kHeads) return {.dim = kHeads, .copied = true, .replicated = true};
  if (dim == kSequence) return {.dim = kSequence, .copied = true, .replicated = true};
  const bool copied = Q.placement(axis) == Placement::Copied;
  return {.copied = copied, .replicated = true};
}

std::string remedy(const AllowedKeys& allowed) {
  if (allowed.dim == kSequence) return "Copied (K, V gathered) or Sharded(1) (a ring)";
  if (allowed.dim == kHeads)
    return "Sharded(2), with the key heads that its query heads use on each worker, or Copied";
  if (allowed.dim >= 0) return concat("Sharded(", allowed.dim, "), as q is");
  return allowed.copied ? "Copied, as q is" : "Replicated, as q is";
}

void check_axis(const Space& Q, const Space& K, int axis) {
  const std::string& name = Q.partition().axis(axis).name;
  for (const Space& X : {Q, K}) {
    RIESZ_CHECK(X.dim_of(axis) != kWidth, "attention: axis ", name, " shards the head width, dim 3 of ",
                to_string(X), "; it must be whole: bring it there with between(X, Y)");
  }
  const AllowedKeys allowed = allowed_keys(Q, axis);
  const bool alike = K.dim_of(axis) >= 0                      ? K.dim_of(axis) == allowed.dim
                     : K.placement(axis) == Placement::Copied ? allowed.copied
                                                              : allowed.replicated;
  RIESZ_CHECK(alike, "attention: on axis ", name, " q is ", lies(Q, axis), " but k and v are ", lies(K, axis),
              ";", both(Q, K), "bring k and v with between(X, Y) to be ", remedy(allowed), " on ", name);
}

std::vector<Shard> counting_shards(const Space& X, int dim) {
  std::vector<Shard> shards;
  for (const Shard& shard : X.shards(dim)) {
    if (X.counts(shard.axis)) shards.push_back(shard);
  }
  return shards;
}

/// Does every worker hold the same of this dim in both?
bool split_alike(const Space& Q, const Space& K, int dim) {
  if (counting_shards(Q, dim) == counting_shards(K, dim) && Q.unit_of(dim) == K.unit_of(dim)) return true;
  for (int rank = 0; rank < Q.partition().size(); ++rank) {
    const std::vector<int> coordinates = Q.partition().coordinates(rank);
    if (Q.held(dim, coordinates) != K.held(dim, coordinates)) return false;
  }
  return true;
}

KeyHeads key_heads_of(const Space& Q, const Space& K, int rank) {
  const std::vector<int> coordinates = Q.partition().coordinates(rank);
  const std::int64_t group = Q.shape()[kHeads] / std::max<std::int64_t>(K.shape()[kHeads], 1);
  return {Q.held(kHeads, coordinates), K.held(kHeads, coordinates), std::max<std::int64_t>(group, 1)};
}

void check_heads(const Space& Q, const Space& K) {
  if (Q.shape()[kHeads] == K.shape()[kHeads] && split_alike(Q, K, kHeads)) return;
  for (int rank = 0; rank < Q.partition().size(); ++rank) {
    const std::optional<std::int64_t> head = key_heads_of(Q, K, rank).query_without_key();
    RIESZ_CHECK(!head, "attention: the heads, dim 2: worker ", rank, " has query head ", *head,
                " but not its key head, ", *head * K.shape()[kHeads] / Q.shape()[kHeads], ";", both(Q, K),
                "bring k and v with between(X, Y) to a split with the key heads that its query heads use on "
                "each worker, as Split::covering where workers share one");
  }
}

void check_split(const Space& Q, const Space& K) {
  RIESZ_CHECK(split_alike(Q, K, kBatch),
              "attention: the batch, dim 0, is split in one way in q and in "
              "another in k and v;",
              both(Q, K), "bring k and v with between(X, Y) to the split of q");
  check_heads(Q, K);
  for (const Space& X : {Q, K}) {
    RIESZ_CHECK(
        !X.copies(kSequence), "attention: the splits of dim 1, the sequence, overlap in ", to_string(X),
        ", so that positions would be seen, or computed, twice; bring it with between(X, Y) to a split "
        "without overlaps");
  }
  const std::vector<std::string> axes = sharding_axes(K, kSequence);
  RIESZ_CHECK(axes.size() < 2, "attention: axes ", axes.front(), " and ", axes.back(),
              " shard dim 1 of k and v, in ", to_string(K),
              ", but a ring goes along one; gather k and v over the others: bring them with between(X, Y) "
              "to be Copied there");
}

/// Of these dims of X alone; Copied where X shards another.
Space of_dims(const Space& X, const std::vector<int>& dims) {
  Space part = select_dims(X, dims);
  for (int a = 0; a < static_cast<int>(X.partition().axes().size()); ++a) {
    const bool spread = X.dim_of(a) >= 0 && part.dim_of(a) < 0;
    if (spread) part = part.copied(X.partition().axis(a).name);
  }
  return part;
}

}  // namespace

AttentionPlan plan_attention(const Space& Q, const Space& K) {
  check_shapes(Q, K);
  const auto& axes = Q.partition().axes();
  AttentionPlan plan{Q, K, std::nullopt};
  for (int a = 0; a < static_cast<int>(axes.size()); ++a) {
    const std::string& name = axes[static_cast<std::size_t>(a)].name;
    if (!Q.counts(a) && !K.counts(a)) {
      if (K.dim_of(a) == kSequence) plan.keys = plan.keys.replicated(name);  // one worker: nothing to rotate
      continue;
    }
    check_axis(Q, K, a);
    if (K.dim_of(a) == kSequence) plan.ring = name;
    const bool differs =
        Q.dim_of(a) == kSequence || Q.dim_of(a) == kHeads || Q.placement(a) == Placement::Copied;
    if (differs && K.placement(a) == Placement::Replicated) plan.keys = plan.keys.copied(name);
  }
  check_split(Q, K);
  return plan;
}

Space AttentionPlan::probabilities() const {
  return insert_dim(select_dims(queries, {kBatch, kHeads, kSequence}), 3, keys.shape()[kSequence]);
}

KeyHeads AttentionPlan::key_heads(int rank) const { return key_heads_of(queries, keys, rank); }

Space AttentionPlan::seen_keys() const { return of_dims(probabilities(), {kBatch, 3}); }

Space AttentionPlan::beside(const Space& mask) const {
  const Space whole = probabilities();
  for (const std::vector<int>& dims : {std::vector{2, 3}, std::vector{0, 2, 3}}) {
    const Space part = of_dims(whole, dims);
    if (part.shape() == mask.shape()) return part;
  }
  std::vector<int> own{3};  // the dims of its own, as against those of 1
  for (std::size_t d = 3; mask.dims() == 4 && d-- > 0;)
    if (mask.shape()[d] == whole.shape()[d]) own.insert(own.begin(), static_cast<int>(d));
  Space part = of_dims(whole, own);
  for (int d = 0; d < 3; ++d)
    if (std::find(own.begin(), own.end(), d) == own.end()) part = insert_dim(part, d, 1);
  if (part.shape() == mask.shape()) return part;
  throw_error(
      concat("attention: a mask in\n  ", to_string(mask), "\nfor probabilities of (B, heads, T, S) in\n  ",
             to_string(whole),
             "\nwhich takes one of (T, S), (B, T, S) or (B, heads, T, S), where B, heads and T of the "
             "last may be 1, for all; of (B, S), which keys are seen, is .seen; with other dims "
             "say which, as AttentionMask(mask, \"hts\")"));
}

Space packed(const Space& K) { return insert_dim(K, 0, 2); }

}  // namespace riesz::detail
