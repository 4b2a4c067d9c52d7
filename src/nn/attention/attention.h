// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "riesz/nn/attention/key_value_cache.h"
#include "riesz/nn/layers/dropout.h"

namespace riesz {

/// How attention(q, k, v) weighs positions.
struct AttentionOptions {
  /// Position t of q sees the positions s ≤ t + offset of k, also where T ≠ S.
  bool causal = false;
  /// Causal attention alone: a position sees its own and those just before, so many in all, t + offset −
  /// window < s ≤ t + offset.
  std::optional<std::int64_t> window = std::nullopt;
  /// 1/√d unless given.
  std::optional<double> scale = std::nullopt;
  /// Applied to the softmax; its mask is that of the global indices of (B, heads, T, S).
  const Dropout* dropout = nullptr;
  /// How many of k's positions stand before the first of q's. Counts only if causal.
  std::int64_t offset = 0;
  /// What is added to the scores; or, of booleans, which positions are seen. Of (T, S), (B, T, S) or
  /// (B, heads, T, S), where B, heads and T of the last may be 1, for all; in any space; what is added has a
  /// gradient.
  std::optional<Vector> mask = std::nullopt;
  /// Which keys of each sequence are seen, such as those that are no padding: of (B, S), of booleans, or of
  /// integers that are not 0, in any space; best sharded as keys are. It is gathered over the
  /// sequence, a byte a key; on a CPU nothing of T·S is made for it and causality.
  std::optional<Vector> seen = std::nullopt;
};

/// y = softmax(scale·q·kᵀ + mask)·v per sequence and head (Vaswani et al., 1706.03762): q in (B, T, heads,
/// d), k and v in one space of (B, S, key heads, d) → y in q's space. A position that sees none is zero, and
/// so is its gradient.
/// Heads may be grouped (Ainslie et al., 2305.13245): of heads = m·(key heads), query head i uses key head
/// i/m. What is done follows from the placements on each axis:
///
/// | q                    | k and v         | what it is                   | elements that leave a worker |
/// |----------------------|-----------------|------------------------------|------------------------------|
/// | batch                | the same, alike | local                        | 0                            |
/// | heads                | heads, or Copied| local                        | 0                            |
/// | heads                | Replicated      | the same, read as Copied     | 0; backward an AllReduce     |
/// | Replicated           | Replicated      | local                        | 0                            |
/// | T sharded, or Copied | Copied          | local; K, V gathered before  | 0                            |
/// | T sharded, or Copied | Replicated      | the same, read as Copied     | 0; backward an AllReduce     |
/// | T sharded            | S sharded       | ring attention               | those of K and V, p − 1 times|
///
/// Where heads are sharded, each worker needs the key heads that its query heads use: the same split in
/// whole groups, or one that overlaps where workers share a key head (Split::covering).
/// Several axes may be placed so at once, one of them a ring. Splits may be balanced, of any sizes, empty, or
/// zigzag, which evens causal work out. Ulysses is between(T sharded, heads sharded) of q, k and v, this, and
/// back. Collective over the partition.
///
/// A ring of p workers (Liu et al., 2310.01889) sends K and V on while it computes, in backward once more and
/// their gradients p times; it computes nothing that causality or the window hides from all rows of a worker.
/// @throws Error naming spaces, axis and remedy where the placements do not fit; where a mask lies on other
/// workers than q; where the dropout's p > 0 and the call has no context; and from second derivatives of a
/// ring.
Vector attention(const Vector& q, const Vector& k, const Vector& v, const AttentionOptions& options = {});

/// Self-attention of projections in one, (3, B, T, heads, d), q, k and v along the first dim, → (B, T, heads,
/// d). As the above of the three; they travel as they lie.
Vector attention(const Vector& qkv, const AttentionOptions& options = {});

/// How the layer `Attention` attends in all its calls.
struct AttentionLayerOptions {
  std::string queries = "bthd";  ///< letters of the batch, the sequence, the query heads and their width
  std::string keys = "bthd";     ///< the same of keys and values, such as "btgd"
  bool causal = false;
  std::optional<std::int64_t> window = std::nullopt;  ///< as AttentionOptions has it
  std::optional<double> scale = std::nullopt;         ///< likewise
  double dropout = 0;                                 ///< of the softmax, by the part "attn_dropout"
};

/// The options of one call of `Attention`; the call names the type, as AttentionCall{…} (see `Layer`).
struct AttentionCall {
  std::int64_t offset = 0;                    ///< as AttentionOptions has it; a cache knows it by itself
  std::optional<Vector> mask = std::nullopt;  ///< likewise; with a cache S is of all positions it holds
  std::optional<Vector> seen = std::nullopt;  ///< likewise; with a cache S is of all positions so far
  /// Takes this call's keys and values, and gives those before. It lies where attention is computed.
  KeyValueCache* cache = nullptr;

  template <typename F>
  void each_vector(F&& f) {
    f(mask), f(seen);
  }
};

/// attention() as a part of a model whose letters are roles: computed where the layout says. With
/// Sequence::ring keys and values go round; with Sequence::ulysses queries, keys and values are brought to
/// whole sequences of some of the heads, and the result back.
class Attention : public Layer<Attention> {
 public:
  Attention(Module& owner, const std::string& name, const AttentionLayerOptions& options);

  /// Queries, and keys and values of one space, each as projected inside a block → where queries lie.
  /// @throws Error as attention() and `KeyValueCache`; naming both windows where the cache keeps fewer
  /// positions than this layer sees.
  Vector forward(const Vector& q, const Vector& k, const Vector& v, const AttentionCall& call = {}) const;
  /// Self-attention of projections in (3, B, T, heads, d), queries, keys and values along the first dim.
  Vector forward(const Vector& qkv, const AttentionCall& call = {}) const;

  std::string describe() const override;

 private:
  /// The operands are where attention is computed.
  Vector from_cache(const Vector& q, const Vector& k, const Vector& v, const AttentionCall& call) const;
  AttentionOptions settings(const AttentionCall& call) const;

  AttentionLayerOptions options_;
  Dropout dropout_;
  Space queries_;  // where attention is computed
  Space keys_;
  Space packed_;
};

}  // namespace riesz
