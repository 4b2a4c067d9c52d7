// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "riesz/io/checkpoint/stored_names.h"
#include "riesz/io/safetensors/header.h"
#include "riesz/optim/saved_table.h"
#include "riesz/partition/split.h"

namespace riesz {

/// A vector on its way into a file: who holds what of it, and who writes what.
struct WrittenVector {
  SavedKey key;
  at::ScalarType type;
  std::vector<std::int64_t> shape;
  std::vector<Intervals> held;  ///< by worker; copies too
  Split written;                ///< by worker: an interval of the file, or none
  std::size_t file = 0;
  Interval place;  ///< in the file, in bytes
};

struct WrittenFile {
  std::string name;
  SafetensorsHeader header;
};

/// The plan of a checkpoint's files, as a value. It is the same on all workers, and at every layout except
/// for who writes what.
struct CheckpointPlan {
  std::vector<WrittenFile> files;
  std::map<std::string, std::string> indices;  ///< by name, the texts of those that list several files
  std::vector<WrittenVector> vectors;

  std::int64_t bytes() const;
};

/// The plan for the state of these workers. A file has at most `file_bytes` of data, or one tensor.
/// Collective over P. @throws Error on all, naming a vector that lacks elements, or that has different shapes
/// or types on two workers.
CheckpointPlan plan_checkpoint(const Partition& P, const State& state, const Shapes& shapes,
                               std::int64_t file_bytes);

/// The plan for whole tensors that no worker holds. It leaves open who writes what: `held` is empty and
/// `written` one interval. Local. Cost: the lists alone.
CheckpointPlan plan_tensors(const std::vector<StoredTensor>& tensors, std::int64_t file_bytes);

/// The elements, of n, that each worker writes. If each worker holds one interval, and none much more than
/// n/p, it writes its own. Else each writes n/p, in the workers' order, but at least 1,024, so the last ones
/// may write nothing.
Split written_by(std::int64_t n, const std::vector<Intervals>& held);

}  // namespace riesz
