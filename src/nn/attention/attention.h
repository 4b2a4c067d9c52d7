// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "riesz/nn/attention/key_value_cache.h"
#include "riesz/nn/layers/dropout.h"

namespace riesz {

/// A mask of attention, or what is added to its scores. The letters say which dims of (B, heads, T, S) the
/// vector has: some of b, h, t and s in this order, the last one s. A mask for each head, such as T5's bias
/// by relative positions, is AttentionMask(bias, "hts"). Without letters: (T, S), (B, T, S) or (B, heads, T,
/// S). @throws Error, in the call of attention, where the letters are not those of the vector's dims.
struct AttentionMask {
  AttentionMask(Vector mask, std::string letters = "") : vector(std::move(mask)), dims(std::move(letters)) {}

  template <typename F>
  void each_vector(F&& f) {
    f(vector);
  }

  Vector vector;
  std::string dims;
};

/// How attention(q, k, v) weighs positions.
struct AttentionOptions {
  /// Position t of q sees the positions s ≤ t + offset of k, also where T ≠ S.
  bool causal = false;
  /// Size of a sliding window, for causal attention alone: t + offset − window < s ≤ t + offset. A position
  /// sees this many positions: its own and those just before it.
  std::optional<std::int64_t> window = std::nullopt;
  /// 1/√d unless given.
  std::optional<double> scale = std::nullopt;
  /// Applied to the softmax; its mask is that of the global indices of (B, heads, T, S).
  const Dropout* dropout = nullptr;
  /// Number of k's positions before the first of q's. Counts only if causal.
  std::int64_t offset = 0;
  /// A mask. Numbers are added to the scores and have a gradient; booleans say which positions are seen. It
  /// lies in any space. Its shape is as its letters say, or (T, S), (B, T, S) or (B, heads, T, S). In the
  /// last form B, heads and T may be 1, which stands for all.
  std::optional<AttentionMask> mask = std::nullopt;
  /// Which keys of each sequence are seen, such as all but padding. Booleans, or integers where 0 means
  /// unseen, of shape (B, S), in any space; best sharded as the keys are. It is gathered over the sequence,
  /// one byte a key. On a CPU no T·S mask is made for it together with causality.
  std::optional<Vector> seen = std::nullopt;
};

/// Attention: y = softmax(scale·q·kᵀ + mask)·v per sequence and head (Vaswani et al., 1706.03762). q has the
/// shape (B, T, heads, d); k and v lie in one space of shape (B, S, key heads, d); y lies in q's space. A
/// position that sees no key gives zero, and its gradient is zero. One that sees a key whose score is NaN
/// gives NaN. Heads may be grouped (Ainslie et al., 2305.13245): with heads = m·(key heads), query head i
/// uses key head i/m. The placements on each axis decide how it is computed:
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
/// Where heads are sharded, each worker needs the key heads that its query heads use: the same split in whole
/// groups, or one that overlaps where workers share a key head (Split::covering). Several axes may be placed
/// so at once; at most one of them is a ring. Splits may be balanced, of any sizes, empty, or zigzag, which
/// makes causal work even. For Ulysses, bring q, k and v from T sharded to heads sharded by `between`, call
/// this, and bring y back. Collective over the partition.
///
/// A ring of p workers (Liu et al., 2310.01889) sends K and V on while it computes. Backward sends K and V
/// round once more, and their gradients p times. Tiles that causality or the window hides from all rows of a
/// worker are not computed.
/// @throws Error naming spaces, axis and remedy where the placements do not fit. Also where a mask lies on
/// other workers than q, where dropout has p > 0 and the call has no context, and from second derivatives of
/// a ring.
Vector attention(const Vector& q, const Vector& k, const Vector& v, const AttentionOptions& options = {});

/// Self-attention of q, k and v packed in one vector: (3, B, T, heads, d) → (B, T, heads, d). Equal to the
/// function above; the three travel as they lie.
Vector attention(const Vector& qkv, const AttentionOptions& options = {});

/// The options of the layer `Attention`, for all its calls.
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
  std::int64_t offset = 0;  ///< as AttentionOptions has it; a cache knows it by itself
  std::optional<AttentionMask> mask =
      std::nullopt;                           ///< likewise; with a cache S is of all positions it holds
  std::optional<Vector> seen = std::nullopt;  ///< likewise; with a cache S is of all positions so far
  /// A cache that takes this call's keys and values and gives those of earlier calls. It lies where attention
  /// is computed. Where none is given, a causal layer keeps one in the call's `ModelCache`, if there is one.
  KeyValueCache* cache = nullptr;

  template <typename F>
  void each_vector(F&& f) {
    f(mask), f(seen);
  }
};

/// A layer that calls attention(), in a model whose letters are roles: the layout says where it is computed.
/// Where that is another place than inside a block (`Places::attending`), as at Sequence::ulysses with whole
/// sequences of some of the heads, queries, keys and values are brought there, and the result back.
class Attention : public Layer<Attention> {
 public:
  Attention(Module& owner, const std::string& name, const AttentionLayerOptions& options);

  /// Takes q, and k and v of one space, as projected inside a block. The result lies where q lies.
  /// @throws Error as attention() and `KeyValueCache`. Also naming both windows where the cache keeps fewer
  /// positions than this layer sees.
  Vector forward(const Vector& q, const Vector& k, const Vector& v, const AttentionCall& call = {}) const;
  /// Self-attention of q, k and v packed in (3, B, T, heads, d).
  Vector forward(const Vector& qkv, const AttentionCall& call = {}) const;

  std::string describe() const override;

 private:
  /// The cache of a call, or nullptr.
  KeyValueCache* cache_of(const AttentionCall& call) const;
  /// The operands are where attention is computed.
  Vector from_cache(const Vector& q, const Vector& k, const Vector& v, const AttentionCall& call,
                    KeyValueCache& cache) const;
  AttentionOptions settings(const AttentionCall& call) const;

  AttentionLayerOptions options_;
  Dropout dropout_;
  Space queries_;  // where attention is computed
  Space keys_;
  Space packed_;
};

}  // namespace riesz
