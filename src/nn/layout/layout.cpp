// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layout/layout.h"

#include <algorithm>
#include <set>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

using Axes = std::vector<std::string>;

/// What all inner widths have in common: heads, the MLP's width, the vocabulary.
constexpr Role kInner[] = {Role::heads, Role::key_value_heads, Role::inner, Role::vocabulary};

std::set<std::string> axes_of(const Layout& layout) {
  std::set<std::string> known{"dp"};
  if (layout.sequence != Sequence::whole) known.insert("sp");
  for (const auto& [role, places] : layout.places) {
    for (const Axes* axes : {&places.stream, &places.inside, &places.weight_in, &places.weight_out})
      known.insert(axes->begin(), axes->end());
  }
  return known;
}

Layout checked(Layout layout) {
  const std::set<std::string> known = axes_of(layout);
  const Partition& mesh = layout.mesh;
  for (const Axis& axis : mesh.axes()) {
    RIESZ_CHECK(axis.name != "sp" || axis.extent == 1 || layout.sequence != Sequence::whole,
                "spaces::", layout.name, ": the grid ", to_string(mesh),
                " has an axis sp, but the sequence is whole; ask for Sequence::ring or Sequence::ulysses");
    RIESZ_CHECK(axis.extent == 1 || known.contains(axis.name), "spaces::", layout.name, ": the grid ",
                to_string(mesh), " has an axis ", axis.name,
                ", which this layout does not use; give its workers to another axis");
  }
  return layout;
}

/// A layout where all inner widths lie alike.
Layout layout_of(std::string name, const Partition& mesh, Sequence sequence, const Places& batch,
                 const Places& width, const Places& inner, const Axes& position_rows) {
  Layout layout{std::move(name), mesh, {}, sequence};
  layout.places[Role::batch] = batch;
  layout.places[Role::width] = width;
  for (const Role role : kInner) layout.places[role] = inner;
  layout.places[Role::position] = {.weight_in = position_rows};
  return layout;
}

Layout megatron(const std::string& name, const Partition& mesh, Sequence sequence,
                const Axes& stream_sequence) {
  const Axes tp{"tp"};
  Layout layout = layout_of(name, mesh, sequence, {.stream = {"dp"}, .inside = {"dp"}}, {},
                            {.inside = tp, .weight_in = tp, .weight_out = tp}, {});
  layout.places[Role::sequence] = {.stream = stream_sequence};
  return checked(std::move(layout));
}

/// Everything over rows and columns, the batch also over the axes before.
Layout rows_and_columns(const std::string& name, const Partition& mesh, Sequence sequence, Axes batch) {
  batch.push_back("row");
  const Places width{
      .stream = {"column"}, .inside = {"column"}, .weight_in = {"row"}, .weight_out = {"column"}};
  return checked(layout_of(name, mesh, sequence, {.stream = batch, .inside = batch}, width, width, {"row"}));
}

}  // namespace

std::string to_string(Role role) {
  switch (role) {
    case Role::batch:
      return "batch";
    case Role::sequence:
      return "sequence";
    case Role::position:
      return "position";
    case Role::width:
      return "width";
    case Role::heads:
      return "heads";
    case Role::key_value_heads:
      return "key_value_heads";
    case Role::inner:
      return "inner";
    case Role::vocabulary:
      return "vocabulary";
    case Role::whole:
      break;
  }
  return "whole";
}

namespace spaces {

Layout one_d(const Partition& mesh, Sequence sequence) { return megatron("one_d", mesh, sequence, {}); }

Layout sequence_parallel(const Partition& mesh, Sequence sequence) {
  return megatron("sequence_parallel", mesh, sequence, {"tp"});
}

Layout two_d(const Partition& mesh, Sequence sequence) {
  return rows_and_columns("two_d", mesh, sequence, {"dp"});
}

Layout two_and_half_d(const Partition& mesh, Sequence sequence) {
  return rows_and_columns("two_and_half_d", mesh, sequence, {"dp", "depth"});
}

Layout three_d(const Partition& mesh, Sequence sequence) {
  return checked(layout_of("three_d", mesh, sequence,
                           {.stream = {"dp", "a", "c"}, .inside = {"dp", "a", "b"}},
                           {.stream = {"b"}, .weight_in = {"b", "a"}, .weight_out = {"b"}},
                           {.inside = {"c"}, .weight_in = {"c", "a"}, .weight_out = {"c"}}, {"c", "a"}));
}

Layout ring(const Partition& mesh) { return one_d(mesh, Sequence::ring); }

Layout ulysses(const Partition& mesh) { return one_d(mesh, Sequence::ulysses); }

Layout placed(std::vector<Layout> stages, std::map<std::string, int> stage_of) {
  RIESZ_CHECK(!stages.empty(), "spaces::placed: a model has one stage at least; give the layout of each");
  const auto n = static_cast<int>(stages.size());
  for (const auto& [path, stage] : stage_of)
    RIESZ_CHECK(stage >= 0 && stage < n, "spaces::placed: ", path, " is of stage ", stage,
                ", but there are layouts of the stages 0 to ", n - 1,
                "; number them without holes, and give a layout for each");
  const auto root = stage_of.find("");
  Layout layout = stages[static_cast<std::size_t>(root == stage_of.end() ? 0 : root->second)];
  layout.name = concat(layout.name, " in ", n, " stages");
  layout.stages = std::move(stages);
  layout.stage_of = std::move(stage_of);
  return layout;
}

Layout named(const std::string& tensor, const std::string& sequence, const Partition& mesh) {
  static const std::map<std::string, Sequence> sequences{
      {"none", Sequence::whole}, {"ring", Sequence::ring}, {"ulysses", Sequence::ulysses}};
  static const std::map<std::string, decltype(&one_d)> tensors{
      {"1d", one_d}, {"sp", sequence_parallel}, {"2d", two_d}, {"2.5d", two_and_half_d}, {"3d", three_d}};
  RIESZ_CHECK(tensors.contains(tensor), "spaces::named: \"", tensor, "\" is none of 1d, sp, 2d, 2.5d, 3d");
  RIESZ_CHECK(sequences.contains(sequence), "spaces::named: \"", sequence,
              "\" is none of none, ring, ulysses");
  return tensors.at(tensor)(mesh, sequences.at(sequence));
}

}  // namespace spaces
}  // namespace riesz
