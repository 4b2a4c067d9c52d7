// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/partition/space.h"

namespace riesz {

/// An axis of the grid that shards a dim, and the kind of its split.
struct ShardingAxis {
  enum class Kind {
    balanced,  ///< a run for each worker
    zigzag     ///< two chunks for each, one from either end (`Split::zigzag`): even work where it is causal
  };

  ShardingAxis(const char* axis) : name(axis) {}
  ShardingAxis(std::string axis, Kind how = Kind::balanced) : name(std::move(axis)), kind(how) {}

  bool operator==(const ShardingAxis&) const = default;

  std::string name;
  Kind kind = Kind::balanced;
};
using ShardingAxes = std::vector<ShardingAxis>;

/// The axes that shard a role, major to minor, in each of five places. The residual stream runs from block to
/// block; the others are vectors inside a block, weights as inputs, weights as outputs, and the operands of
/// attention, which lie as inside unless given.
struct Places {
  ShardingAxes stream;
  ShardingAxes inside;
  ShardingAxes weight_in;
  ShardingAxes weight_out;
  std::optional<ShardingAxes> attending = std::nullopt;
};

/// The role of a dim of a model. A layout says which axes of the grid shard each role. The set is open: a
/// model names roles of its own, and says of each how layouts treat it:
///
///     const Role frames("frames", Role::sequence);                     // as the tokens of a sequence
///     const Role expert("expert", {.inside = {"ep"}});                 // by an axis of its own
///
/// A layout may have an entry for such a role too, which then counts. Two roles are equal if their names are.
/// Immutable; copies share it.
class Role {
 public:
  /// Where the vectors lie that have such a dim (`ModelSpaces::stream_or_inside`).
  enum class Home {
    either,  ///< where their other dims say
    stream,  ///< in the residual stream, if no dim lies inside
    inside   ///< inside a block
  };

  static const Role batch;
  static const Role sequence;
  static const Role position;         ///< rows of a table of positions
  static const Role width;            ///< of the residual stream
  static const Role heads;            ///< of queries
  static const Role key_value_heads;  ///< as many as query heads, or fewer, each shared by as many of them
  static const Role inner;            ///< of an MLP
  static const Role vocabulary;
  static const Role whole;  ///< never sharded, such as the width of a head

  /// A role that every layout treats as it treats `like`.
  /// @throws Error if `name` is empty or that of a role above.
  Role(std::string name, const Role& like);
  /// A role that these axes shard at every layout. An axis shards one dim of a vector: where another dim's
  /// role names it too, it is this one's. @throws Error as above.
  Role(std::string name, Places axes, Home home = Home::inside);

  const std::string& name() const;
  Home home() const;
  /// Is it this role, or does it lie like it?
  bool is(const Role& other) const;
  /// The role that it lies like, or nothing.
  std::optional<Role> like() const;
  /// Its own axes, or nullptr.
  const Places* axes() const;

  bool operator==(const Role& other) const { return name() == other.name(); }
  bool operator<(const Role& other) const { return name() < other.name(); }
  /// Equal, and treated alike?
  bool same_as(const Role& other) const { return made_ == other.made_; }

 private:
  struct Made;
  explicit Role(std::shared_ptr<const Made> made) : made_(std::move(made)) {}
  Role(Home home, const char* name);

  std::shared_ptr<const Made> made_;
};

inline const Role Role::batch{Home::either, "batch"};
inline const Role Role::sequence{Home::either, "sequence"};
inline const Role Role::position{Home::either, "position"};
inline const Role Role::width{Home::stream, "width"};
inline const Role Role::heads{Home::inside, "heads"};
inline const Role Role::key_value_heads{Home::inside, "key_value_heads"};
inline const Role Role::inner{Home::inside, "inner"};
inline const Role Role::vocabulary{Home::inside, "vocabulary"};
inline const Role Role::whole{Home::either, "whole"};

/// A role and its extent; batch and sequence, and what lies like them, are of any extent, which each call
/// decides.
struct Dim {
  Role role = Role::whole;
  std::int64_t extent = Space::any;
  /// Which query heads use these key and value heads, by letter; 0: the only ones that the model has.
  char of = 0;
};

/// A letter for each dim of a model, so that the letters of its specs are roles:
///
///     Roles{{'b', {Role::batch}}, {'t', {Role::sequence}},
///           {'c', {Role::width, 48}}, {'f', {Role::inner, 192}}}
using Roles = std::map<char, Dim>;

/// "batch", "key_value_heads", "expert" …
std::string to_string(const Role& role);

/// How a layout's function shards the sequence over the axis "sp" of the grid. The layout itself has only
/// `Places`.
enum class Sequence {
  whole,   ///< not sharded by `sp`
  ring,    ///< in zigzag; keys and values go round a ring (Liu et al., 2310.01889), with even work
  ulysses  ///< in runs; attention is on whole sequences of some of the heads (DeepSpeed, 2309.14509)
};

/// A grid of workers, and the axes that shard each role on it: one parallelism, for any model. An axis that
/// the grid lacks counts as one worker.
struct Layout {
  std::string name;  ///< such as "one_d", for messages
  Partition mesh;
  std::map<Role, Places> places;
  /// Is an axis of the grid an error that neither `places` nor a role of the model's own uses? So at the
  /// layouts below; `ModelSpaces` checks it.
  bool uses_all_axes = false;
  // Of a model whose parts do not all lie in one place (`spaces::placed`); else empty.
  std::vector<Layout> stages = {};
  std::map<std::string, int> stage_of = {};  ///< by path
};

// The layouts of the literature, for any model. Each shards the batch over the grid's axis "dp", uses the
// axes that its text names, and "sp" if `sequence` is not whole. Sizes that do not divide are sharded
// unevenly, also into empty shards. Local. @throws Error if "sp" is there and the sequence whole. A model of
// the layout throws one naming an axis of the grid that neither the layout nor a role of its own uses.
namespace spaces {

/// Axis "tp": heads, inner widths and the vocabulary (Megatron-LM, 1909.08053).
Layout one_d(const Partition& mesh, Sequence sequence = Sequence::whole);

/// The same, with the sequence sharded over "tp" in the residual stream (Korthikanti et al., 2205.05198).
Layout sequence_parallel(const Partition& mesh, Sequence sequence = Sequence::whole);

/// Axes "row" and "column": the batch over rows, every width over columns, a weight over both (Optimus,
/// 2104.05343).
Layout two_d(const Partition& mesh, Sequence sequence = Sequence::whole);

/// The same on each layer of the axis "depth", over which the batch is sharded too (Tesseract, 2105.14500).
Layout two_and_half_d(const Partition& mesh, Sequence sequence = Sequence::whole);

/// Axes "a", "b" and "c". In turns, the batch lies over a and c with widths over b, and over a and b with
/// widths over c. Weights lie over all three (Agarwal et al. 1995; Colossal-AI, 2105.14450).
Layout three_d(const Partition& mesh, Sequence sequence = Sequence::whole);

/// one_d with Sequence::ring, and with Sequence::ulysses.
Layout ring(const Partition& mesh);
Layout ulysses(const Partition& mesh);

/// A layout for a model with experts, whose role shards them over the grid's axis "ep". Everything else
/// treats "ep" as a part of the axis `like`, minor to what the grid calls so:
///
///     with_experts(one_d(mesh), "dp")   // along ep sequences are others, as along dp
///     with_experts(one_d(mesh), "tp")   // heads, widths and words lie over tp and ep; inside of experts,
///                                       // inner widths over tp alone
///
/// The grid has "ep" as an axis of its own, or as a part of `like`: mesh.factor("tp", {{"tp", 2}, {"ep",
/// 4}}). Without it nothing changes. Each stage of a layout in stages is changed alike.
/// @throws Error unless the layout shards something over `like`, in runs.
Layout with_experts(Layout layout, const std::string& like);

/// A layout of a pipeline's stages 0 … n−1, each with a layout of its own. `stage_of` gives the modules of
/// each by their paths, as `Stages` says. Any model takes it as its layout, unchanged:
///
///     MinGpt model(spaces::placed({spaces::one_d(mesh.at("pp", 0)), spaces::one_d(mesh.at("pp", 1))},
///                                 {{"transformer.h.2", 1}, {"transformer.ln_f", 1}, {"lm_head", 1}}),
///                  config);
///
/// @throws Error if a path's stage is none of these.
Layout placed(std::vector<Layout> stages, std::map<std::string, int> stage_of);

/// The layout that a configuration names. `tensor` is "1d", "sp", "2d", "2.5d" or "3d"; `sequence` is "none",
/// "ring" or "ulysses". @throws Error naming a word that is none of them.
Layout named(const std::string& tensor, const std::string& sequence, const Partition& mesh);

}  // namespace spaces
}  // namespace riesz
