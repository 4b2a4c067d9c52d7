// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "riesz/io/checkpoint/stored_names.h"

namespace riesz {

struct LoadOptions {
  bool strict = true;  ///< is it an error if what is wanted and what there is differ?
  /// Of weights: what a tensor of the files is called here, and "" of one that nothing here is made of: it is
  /// left out, whatever its own name. One that is called as nothing here is, is extra; what nothing is called
  /// is missing. By default its own name.
  std::function<std::string(const std::string& stored)> called = {};
  /// The error's advice where something does not fit; "": the library's advice.
  std::string remedy = {};
  /// Of weights: is a number that is not finite an error? Each worker then looks once at what it has read.
  bool finite = false;
};

/// What a loading left, each in a line of text, by name.
struct LoadReport {
  std::vector<std::string> missing;    ///< wanted, and not in the files: they are as they were
  std::vector<std::string> extra;      ///< in the files, and not wanted
  std::vector<std::string> misshapen;  ///< in both, and different: they are as they were

  bool empty() const { return missing.empty() && extra.empty() && misshapen.empty(); }
};

/// "3 are missing: …", a paragraph for each kind; "" where nothing was left.
std::string to_string(const LoadReport& report);

/// Writes into the views what a checkpoint has of their vectors, at any layout, stage and number of workers.
/// Each worker reads its own elements, straight into the views; nothing moves between workers. Values may be
/// of another floating type, and are cast; all else must be of the same. What is one worker's own goes on
/// only on the same grid; elsewhere it begins at zero. Whose state it is, such as an optimizer, goes on from
/// it then. Where something is missing, without `strict`, it does not: say `loaded()` of that optimizer yourself.
/// Collective over P, which has all who take some.
/// @throws Error on all workers, before anything is written, naming all that is missing, extra and misshapen
/// at once; without `strict` it says so in the report instead.
LoadReport load_checkpoint(const std::filesystem::path& folder, const Partition& P, const State& state,
                           const Shapes& shapes, const LoadOptions& options = {});

/// The same for parameters alone, of any folder, file or index of safetensors (`StoredTensors`): their values
/// are set, masters and gathered values follow. Between steps. Local, alike on all workers, whose parameters
/// have the same names. @throws Error likewise.
LoadReport load_weights(const std::filesystem::path& path, const std::vector<Parameter>& parameters,
                        const LoadOptions& options = {});

/// A model's weights alone, as state to save: the values of parameters that no `Zero` keeps. A value that was
/// not drawn yet is drawn.
State state_of_values(const std::vector<Parameter>& parameters);

}  // namespace riesz
