// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/partition/space.h"

namespace riesz {

/// The role of a dim of a model. A layout says which axes of the grid shard each role.
enum class Role {
  batch,
  sequence,
  position,         ///< rows of a table of positions
  width,            ///< of the residual stream
  heads,            ///< of queries
  key_value_heads,  ///< as many as query heads, or fewer, each shared by as many of them
  inner,            ///< of an MLP
  vocabulary,
  whole,  ///< never sharded, such as the width of a head
};

/// A role and its extent; batch and sequence are of any extent, which each call decides.
struct Dim {
  Role role;
  std::int64_t extent = Space::any;
};

/// A letter for each dim of a model, so that the letters of its specs are roles:
///
///     Roles{{'b', {Role::batch}}, {'t', {Role::sequence}},
///           {'c', {Role::width, 48}}, {'f', {Role::inner, 192}}}
using Roles = std::map<char, Dim>;

/// "batch", "key_value_heads" …
std::string to_string(Role role);

/// The axes that shard a role, major to minor, in each of four places. The residual stream runs from block to
/// block; the others are vectors inside a block, weights as inputs, and weights as outputs.
struct Places {
  std::vector<std::string> stream;
  std::vector<std::string> inside;
  std::vector<std::string> weight_in;
  std::vector<std::string> weight_out;
};

/// How the sequence lies over the axis "sp" of the grid.
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
  Sequence sequence = Sequence::whole;
  // Of a model whose parts do not all lie in one place (`spaces::placed`); else empty.
  std::vector<Layout> stages = {};
  std::map<std::string, int> stage_of = {};  ///< by path
};

// The layouts of the literature, for any model. Each shards the batch over the grid's axis "dp", uses the
// axes that its text names, and "sp" if `sequence` is not whole. Sizes that do not divide are sharded
// unevenly, also into empty shards. Local. @throws Error naming an axis of the grid that the layout does not
// know, or if "sp" is there and the sequence whole.
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
