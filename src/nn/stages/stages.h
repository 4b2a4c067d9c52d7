// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/layout/layout.h"
#include "riesz/nn/layout/model_spaces.h"
#include "riesz/partition/partition.h"

namespace riesz {

class Module;

/// The stages of a placed model: 0 … n−1, each with a layout of its own, mostly on a slice of the grid's axis
/// "pp". Paths name the modules of each stage. A path stands for the module of that path and all below:
/// "transformer.h.3" also for "transformer.h.3.attn", but not for "transformer.h.30". The longest path
/// counts. A module that no path names is in stage 0. Several stages may lie on one slice, and a stage may
/// have no modules. `spaces::placed` makes a layout of them. Where a stage has spaces that are not its
/// layout's, give a model this in place of its spaces.
///
/// Immutable; local; alike on all workers. Vectors are placed by the names of axes. So where an axis of one
/// stage's grid is missing in another's, give it there with one worker.
class Stages {
 public:
  /// @throws Error naming the path and the stages there are where a path's stage is none of them.
  Stages(std::vector<ModelSpaces> spaces, std::map<std::string, int> stage_of);
  /// The same with one model's roles for all.
  Stages(const std::vector<Layout>& layouts, const Roles& roles, std::map<std::string, int> stage_of);

  int size() const { return static_cast<int>(spaces_.size()); }
  /// @throws Error unless there is such a stage.
  const ModelSpaces& spaces(int stage) const;
  /// The workers of all stages, also of one that has no modules.
  const Partition& workers() const { return workers_; }
  const std::map<std::string, int>& paths() const { return stage_of_; }

  /// The stage that the longest path says for a module, or nothing.
  std::optional<int> named(const std::string& module) const;
  /// The same among the paths that are longer than `owner`.
  std::optional<int> named(const std::string& module, const std::string& owner) const;
  /// Has this module, of stage `stage`, a part below it on another stage?
  bool spans(const std::string& module, int stage) const;

 private:
  std::vector<ModelSpaces> spaces_;
  std::map<std::string, int> stage_of_;
  Partition workers_;
};

/// Is `path` that of `module`, or of one above it?
bool covers(const std::string& path, const std::string& module);

/// @throws Error naming a path of the model's stages that stands for none of its modules, and the modules
/// beside it. `Module::initialise` calls it. Local.
void check_placed(const Module& model);

}  // namespace riesz
