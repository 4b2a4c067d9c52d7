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

/// What a checkpoint's files will be, as a value: the same on all workers, and, but for who writes what, at
/// every layout.
struct CheckpointPlan {
  std::vector<WrittenFile> files;
  std::map<std::string, std::string> indices;  ///< by name, the texts of those that list several files
  std::vector<WrittenVector> vectors;

  std::int64_t bytes() const;
};

/// The plan for what these workers hold. A file has at most `file_bytes` of data, or one tensor. Collective
/// over P. @throws Error on all, naming a vector of which elements are missing, or that workers know in
/// different shapes or types.
CheckpointPlan plan_checkpoint(const Partition& P, const State& state, const Shapes& shapes,
                               std::int64_t file_bytes);

/// The plan for whole tensors that no worker holds; who writes what of them is open: of each, `held` is empty
/// and `written` one interval. Local. Cost: none but the lists.
CheckpointPlan plan_tensors(const std::vector<StoredTensor>& tensors, std::int64_t file_bytes);

/// The elements, of n, that each worker writes. These are its own where they are one interval for each
/// worker, and none has much more than n/p. Else they are n/p each in the workers' order, but 1,024 at least,
/// so that the last ones may write nothing.
Split written_by(std::int64_t n, const std::vector<Intervals>& held);

}  // namespace riesz
