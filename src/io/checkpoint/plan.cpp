// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/plan.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/io/safetensors/listed_files.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {
namespace {

constexpr std::int64_t kLeast = 1024;  // elements; fewer are not worth sharing out

using Keyed = std::map<SavedKey, std::vector<std::int64_t>>;

/// What each worker knows of the shapes, on all.
Keyed shapes_of_all(const Partition& P, const State& state, const Shapes& shapes) {
  std::ostringstream mine;
  for (const StateView& view : state) {
    mine << view.name << "\n" << view.key << "\n";
    for (const std::int64_t n : stored_shape(view, shapes)) mine << n << " ";
    mine << "\n";
  }
  Keyed all;
  for (const std::string& text : collect_texts(P, mine.str())) {
    std::istringstream in(text);
    for (std::string name, key, line;
         std::getline(in, name) && std::getline(in, key) && std::getline(in, line);) {
      std::istringstream numbers(line);
      std::vector<std::int64_t> shape;
      for (std::int64_t n = 0; numbers >> n;) shape.push_back(n);
      const auto [before, is_new] = all.try_emplace({name, key}, shape);
      RIESZ_CHECK(is_new || before->second == shape, "save_checkpoint: the ", key, " of ", name,
                  " has the shape ", at::IntArrayRef(before->second), " on one worker and ",
                  at::IntArrayRef(shape), " on another; give two vectors two names");
    }
  }
  return all;
}

std::vector<WrittenVector> vectors_of(const std::vector<SavedTable>& tables, const Keyed& shapes) {
  std::vector<WrittenVector> vectors;
  for (const auto& [key, shape] : shapes) {
    const SavedPart* any = nullptr;
    for (const SavedTable& table : tables) {
      const SavedPart* part = find(table, key);
      RIESZ_CHECK(!part || !any || (part->type == any->type && part->n == any->n), "save_checkpoint: the ",
                  key.second, " of ", key.first, " has ", any ? any->n : 0, " elements of type ",
                  any ? any->type : at::kFloat, " on one worker, and others on another");
      any = any ? any : part;
    }
    const std::vector<Intervals> held = intervals_of(tables, key);
    std::int64_t covered = 0;
    for (const Intervals& part : each_once(held)) covered += total(part);
    RIESZ_CHECK(covered == any->n, "save_checkpoint: of the ", key.second, " of ", key.first, " ", covered,
                " elements are held of ", any->n, "; all workers that hold some must save theirs");
    vectors.push_back({key, any->type, shape, held, written_by(any->n, held)});
  }
  return vectors;
}

std::string numbered(const std::string& stem, std::size_t file, std::size_t files) {
  if (files == 1) return stem + ".safetensors";
  char text[48];
  std::snprintf(text, sizeof text, "-%05zu-of-%05zu.safetensors", file + 1, files);
  return stem + text;
}

/// By their names in the files of a stem.
using Named = std::map<std::string, WrittenVector*>;

Named named(CheckpointPlan& plan, const std::string& stem) {
  Named vectors;
  for (WrittenVector& vector : plan.vectors) {
    const StoredName name = stored_name(vector.key.first, vector.key.second);
    if (name.stem == stem) vectors[name.tensor] = &vector;
  }
  return vectors;
}

/// Lays the vectors of one stem into files, in the order of their names there.
void add_files(CheckpointPlan& plan, const std::string& stem, const Named& vectors, std::int64_t file_bytes) {
  if (vectors.empty()) return;
  std::vector<std::vector<StoredTensor>> files(1);
  std::int64_t sum = 0, all = 0;
  for (const auto& [name, vector] : vectors) {
    const StoredTensor tensor{name, vector->type, vector->shape, {}};
    if (!files.back().empty() && sum + tensor.bytes() > file_bytes) files.emplace_back(), sum = 0;
    sum += tensor.bytes();
    all += tensor.bytes();
    files.back().push_back(tensor);
  }
  std::map<std::string, std::string> file_of;
  for (std::size_t i = 0; i < files.size(); ++i) {
    WrittenFile file{numbered(stem, i, files.size()), lay_out(std::move(files[i]), {{"format", "pt"}})};
    for (const StoredTensor& tensor : file.header.tensors) {
      WrittenVector& vector = *vectors.at(tensor.name);
      vector.file = plan.files.size();
      vector.place = tensor.place;
      file_of[tensor.name] = file.name;
    }
    plan.files.push_back(std::move(file));
  }
  if (files.size() > 1) plan.indices[stem + ".safetensors.index.json"] = index_text(file_of, all);
}

}  // namespace

std::int64_t CheckpointPlan::bytes() const {
  std::int64_t sum = 0;
  for (const WrittenFile& file : files) sum += file.header.file_bytes();
  for (const auto& [name, text] : indices) sum += static_cast<std::int64_t>(text.size());
  return sum;
}

Split written_by(std::int64_t n, const std::vector<Intervals>& held) {
  const auto p = static_cast<std::int64_t>(held.size());
  const std::int64_t fair = std::max((n + p - 1) / p, kLeast);
  std::vector<Intervals> own;
  bool as_held = true;
  for (const Intervals& part : each_once(held)) {
    own.push_back(united(part));
    as_held = as_held && own.back().size() <= 1 && total(own.back()) <= fair + fair / 4;
  }
  if (as_held) return Split::pieces(n, own);
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = n; p > static_cast<std::int64_t>(sizes.size()); left -= sizes.back())
    sizes.push_back(std::min(left, fair));
  return Split::sizes(sizes);
}

CheckpointPlan plan_checkpoint(const Partition& P, const State& state, const Shapes& shapes,
                               std::int64_t file_bytes) {
  all_or_none(P, [&] { check_each_once(state); });
  const std::vector<SavedTable> tables = tables_of_all(P, table_of(state, false));
  CheckpointPlan plan;
  plan.vectors = vectors_of(tables, shapes_of_all(P, state, shapes));
  for (const char* stem : {"model", "optimizer"}) add_files(plan, stem, named(plan, stem), file_bytes);
  return plan;
}

CheckpointPlan plan_tensors(const std::vector<StoredTensor>& tensors, std::int64_t file_bytes) {
  CheckpointPlan plan;
  for (const StoredTensor& tensor : tensors)
    plan.vectors.push_back(
        {{tensor.name, "value"}, tensor.type, tensor.shape, {}, Split::sizes({tensor.numel()})});
  Named vectors;
  for (WrittenVector& vector : plan.vectors) vectors[vector.key.first] = &vector;
  add_files(plan, "model", vectors, file_bytes);
  return plan;
}

}  // namespace riesz
