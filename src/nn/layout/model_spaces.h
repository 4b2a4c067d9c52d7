// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/plan_cache.h"
#include "riesz/nn/layout/layout.h"
#include "riesz/partition/space.h"

namespace riesz {

class Stages;

/// Where all vectors and weights of a model lie. It has a layout and the roles of the letters in the model's
/// specs, such as "btc" and "btc,fc->btf". Every space of every layer follows from its letters. Immutable;
/// local.
class ModelSpaces {
 public:
  enum class Place { stream, inside, attending };

  /// @throws Error unless extents are at least 1, and query heads a multiple of the key and value heads that
  /// they use. Also where it is not said which query heads use which key and value heads (`Dim::of`), and
  /// where two roles of one name are treated differently. Also naming an axis of the grid that nothing uses
  /// (`Layout::uses_all_axes`).
  ModelSpaces(Layout layout, Roles roles);
  /// The spaces of the stage of a model's root; parts of other stages take theirs. A placed model is given
  /// `Stages` in place of spaces.
  ModelSpaces(const Stages& stages);
  /// Where the parts lie, or nullptr: all lie here.
  const std::shared_ptr<const Stages>& stages() const { return stages_; }

  /// A copy in which the vectors of these letters in this place, or the weight of this spec, lie in X. For
  /// spaces that no layout can express.
  /// @throws Error unless X has these letters' extents.
  ModelSpaces with(Place place, const std::string& letters, const Space& X) const;
  ModelSpaces with_weight(const std::string& spec, const Space& W) const;

  const Layout& layout() const { return layout_; }
  const Partition& mesh() const { return layout_.mesh; }
  /// @throws Error naming the letter, and those there are, unless it has a role.
  const Dim& dim(char letter) const;
  std::int64_t extent(char letter) const { return dim(letter).extent; }
  /// The letter of the query heads that use the key and value heads of this letter, or 0 if there are none.
  char queries_of(char keys) const;

  // Spaces of vectors, by a letter a dim, such as "btc". Where no letter is the batch, the axes that shard
  // the batch are Copied: a table of positions is the same for all sequences, but each worker uses it for its
  // own. Of two letters of sequences the first lies as a sequence does, and the second is whole: with s like
  // t "bs" is a mask of keys, "bts", "hts" and "ts" are masks of positions by keys. An axis shards one dim of
  // a vector: that of a role with axes of its own first, else the first of the letters.
  /// In the residual stream.
  Space stream(const std::string& letters) const;
  /// Inside a block. Heads of keys and values lie with the query heads that use them; where those are on
  /// several workers, all of these hold a copy, so the split overlaps.
  Space inside(const std::string& letters) const;
  /// In the stream if a letter's role is at home there, such as the width, and none inside, such as heads;
  /// else inside. So "btc" is in the stream, "btf" and, with a role e for experts, "bec" are not.
  Space stream_or_inside(const std::string& letters) const;
  /// Where attention is computed: as inside, unless the layout says it (`Places::attending`), as with
  /// Sequence::ulysses.
  Space attending(const std::string& letters) const;

  /// The space of w in "btc,fc->btf". A letter that is summed over lies as weight_in of its role, a letter of
  /// y as weight_out, and a letter of all three operands as inside. Where both x and y are in the stream, w's
  /// output lies as an inner width's. An axis shards one dim: that of a role with axes of its own first, then
  /// that of a letter of y.
  Space weight(const std::string& spec) const;

  /// A line for each letter: its role, its extent and the axes of its places.
  std::string describe() const;

 private:
  struct Made {
    Place place;
    std::string letters;
    Space X;
  };
  using AllMade = detail::PlanCache<Made>;

  void check_extents(const std::string& letters, const Space& X) const;
  Space space(const std::string& letters, Place place) const;
  Space made_space(const std::string& letters, Place place) const;
  Space with_key_value_heads(Space X, int dim, char letter, const ShardingAxes& axes) const;
  void check_axes() const;
  void check_heads() const;
  /// The axes that the mesh has, among these.
  ShardingAxes there(const ShardingAxes& axes) const;
  const Places& places(const Role& role) const;
  ShardingAxes axes(const Role& role, Place place) const;
  bool in_stream(const std::string& letters) const;

  Layout layout_;
  Roles roles_;
  std::map<std::pair<Place, std::string>, Space> given_;
  std::map<std::string, Space> given_weights_;
  std::shared_ptr<const Stages> stages_;
  std::shared_ptr<AllMade> made_ = std::make_shared<AllMade>();
};

}  // namespace riesz
