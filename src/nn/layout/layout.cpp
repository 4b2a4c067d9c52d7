// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layout/layout.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

/// What all inner widths have in common: heads, the MLP's width, the vocabulary.
const std::vector<Role>& inner_widths() {
  static const std::vector<Role> all{Role::heads, Role::key_value_heads, Role::inner, Role::vocabulary};
  return all;
}

/// A layout where all inner widths lie alike.
Layout layout_of(std::string name, const Partition& mesh, const Places& batch, const Places& width,
                 const Places& inner, const ShardingAxes& position_rows) {
  Layout layout{std::move(name), mesh, {}, true};
  layout.places[Role::batch] = batch;
  layout.places[Role::width] = width;
  for (const Role& role : inner_widths()) layout.places[role] = inner;
  layout.places[Role::position] = {.weight_in = position_rows};
  return layout;
}

/// The layout, with the sequence over "sp" too: major to what shards it already.
Layout with_sequence(Layout layout, Sequence sequence) {
  const Partition& mesh = layout.mesh;
  const bool shared = mesh.find("sp") >= 0 && mesh.extent("sp") > 1;
  RIESZ_CHECK(!shared || sequence != Sequence::whole, "spaces::", layout.name, ": the grid ", to_string(mesh),
              " has an axis sp, but the sequence is whole; ask for Sequence::ring or Sequence::ulysses");
  if (sequence == Sequence::whole) return layout;
  const bool ring = sequence == Sequence::ring;
  const ShardingAxis sp("sp", ring ? ShardingAxis::Kind::zigzag : ShardingAxis::Kind::balanced);
  Places& lies = layout.places[Role::sequence];
  if (!ring) {  // whole sequences of some of the heads
    lies.attending = lies.inside;
    for (const Role& role : {Role::heads, Role::key_value_heads}) {
      Places& of_heads = layout.places[role];
      of_heads.attending = of_heads.inside;
      of_heads.attending->push_back(sp);
    }
  }
  lies.stream.insert(lies.stream.begin(), sp);
  lies.inside.insert(lies.inside.begin(), sp);
  return layout;
}

Layout megatron(const std::string& name, const Partition& mesh, Sequence sequence,
                const ShardingAxes& stream_sequence) {
  const ShardingAxes tp{"tp"};
  Layout layout = layout_of(name, mesh, {.stream = {"dp"}, .inside = {"dp"}}, {},
                            {.inside = tp, .weight_in = tp, .weight_out = tp}, {});
  layout.places[Role::sequence] = {.stream = stream_sequence};
  return with_sequence(std::move(layout), sequence);
}

/// Everything over rows and columns, the batch also over the axes before.
Layout rows_and_columns(const std::string& name, const Partition& mesh, Sequence sequence,
                        ShardingAxes batch) {
  batch.push_back("row");
  const Places width{
      .stream = {"column"}, .inside = {"column"}, .weight_in = {"row"}, .weight_out = {"column"}};
  return with_sequence(layout_of(name, mesh, {.stream = batch, .inside = batch}, width, width, {"row"}),
                       sequence);
}

}  // namespace

struct Role::Made {
  std::string name;
  Home home = Home::either;
  std::optional<Role> like = std::nullopt;
  std::optional<Places> axes = std::nullopt;
};

namespace {

std::string own_name(std::string name) {
  static const std::vector<std::string> taken{"batch",           "sequence", "position",   "width", "heads",
                                              "key_value_heads", "inner",    "vocabulary", "whole"};
  RIESZ_CHECK(!name.empty() && std::find(taken.begin(), taken.end(), name) == taken.end(), "Role: \"", name,
              "\" is no name for a role of a model's own; take one that is not empty and none of batch, "
              "sequence, position, width, heads, key_value_heads, inner, vocabulary, whole");
  return name;
}

}  // namespace

Role::Role(Home home, const char* name) : made_(std::make_shared<const Made>(Made{name, home})) {}

Role::Role(std::string name, const Role& like)
    : made_(std::make_shared<const Made>(Made{own_name(std::move(name)), like.home(), like})) {}

Role::Role(std::string name, Places axes, Home home)
    : made_(std::make_shared<const Made>(
          Made{own_name(std::move(name)), home, std::nullopt, std::move(axes)})) {}

const std::string& Role::name() const { return made_->name; }
Role::Home Role::home() const { return made_->home; }
std::optional<Role> Role::like() const { return made_->like; }
const Places* Role::axes() const { return made_->axes ? &*made_->axes : nullptr; }

bool Role::is(const Role& other) const { return *this == other || (made_->like && made_->like->is(other)); }

std::string to_string(const Role& role) { return role.name(); }

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
  return with_sequence(layout_of("three_d", mesh, {.stream = {"dp", "a", "c"}, .inside = {"dp", "a", "b"}},
                                 {.stream = {"b"}, .weight_in = {"b", "a"}, .weight_out = {"b"}},
                                 {.inside = {"c"}, .weight_in = {"c", "a"}, .weight_out = {"c"}}, {"c", "a"}),
                       sequence);
}

Layout ring(const Partition& mesh) { return one_d(mesh, Sequence::ring); }

Layout ulysses(const Partition& mesh) { return one_d(mesh, Sequence::ulysses); }

Layout with_experts(Layout layout, const std::string& like) {
  bool any = false;
  const auto add = [&](ShardingAxes& axes) {
    const auto major = std::find(axes.begin(), axes.end(), ShardingAxis(like));
    if (major == axes.end()) return;
    any = true;
    if (layout.mesh.find("ep") >= 0) axes.insert(std::next(major), ShardingAxis("ep"));
  };
  for (auto& [role, places] : layout.places) {
    for (ShardingAxes* axes : {&places.stream, &places.inside, &places.weight_in, &places.weight_out})
      add(*axes);
    if (places.attending) add(*places.attending);
  }
  RIESZ_CHECK(any, "spaces::with_experts: ", layout.name, " shards nothing over an axis \"", like,
              "\" in runs; experts take theirs beside one that shards sequences or widths, such as \"dp\" or "
              "\"tp\"");
  for (Layout& stage : layout.stages) stage = with_experts(std::move(stage), like);
  return layout;
}

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
