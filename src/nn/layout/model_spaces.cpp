// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layout/model_spaces.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/table_text.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/nn/stages/stages.h"

namespace riesz {
namespace {

using Axes = std::vector<std::string>;

const char* const kSequenceAxis = "sp";

std::string joined(const Axes& axes) {
  std::string text;
  for (const std::string& axis : axes) text += (text.empty() ? "" : "/") + axis;
  return text.empty() ? "-" : text;
}

/// The key and value heads that worker `w` of an axis uses, if `group` query heads share one.
Intervals used_by(const Split& queries, int w, std::int64_t group) {
  Intervals used;
  for (const Interval& run : queries.held(w))
    if (run.size() > 0) used.push_back({run.begin / group, (run.end - 1) / group + 1});
  return used;
}

/// Disjoint where each is used by one worker alone.
Split split_like_queries(std::int64_t heads, std::int64_t key_value_heads, int workers) {
  const Split queries = Split::balanced(heads, workers);
  std::vector<Intervals> used;
  std::vector<std::int64_t> sizes;
  std::int64_t sum = 0;
  for (int w = 0; w < workers; ++w) {
    used.push_back(used_by(queries, w, heads / key_value_heads));
    sizes.push_back(total(used.back()));
    sum += sizes.back();
  }
  return sum == key_value_heads ? Split::sizes(sizes) : Split::covering(key_value_heads, used);
}

}  // namespace

ModelSpaces::ModelSpaces(Layout layout, Roles roles) : layout_(std::move(layout)), roles_(std::move(roles)) {
  for (const auto& [letter, dim] : roles_) {
    const bool any = dim.role == Role::batch || dim.role == Role::sequence;
    RIESZ_CHECK(dim.extent >= 1 || (any && dim.extent == Space::any), "roles: the dim ", letter, ", ",
                to_string(dim.role), ", has an extent of ", dim.extent, "; it is at least 1",
                any ? ", or of any extent" : "");
  }
  const char queries = letter(Role::heads), keys = letter(Role::key_value_heads);
  RIESZ_CHECK(queries == 0 || keys == 0 || extent(queries) % extent(keys) == 0, "roles: ", extent(queries),
              " query heads are no multiple of ", extent(keys),
              " key and value heads; as many queries share each");
  if (!layout_.stages.empty())
    stages_ = std::make_shared<const Stages>(layout_.stages, roles_, layout_.stage_of);
}

ModelSpaces::ModelSpaces(const Stages& stages) : ModelSpaces(stages.spaces(stages.named("").value_or(0))) {
  stages_ = std::make_shared<const Stages>(stages);
}

const Dim& ModelSpaces::dim(char letter) const {
  if (const auto found = roles_.find(letter); found != roles_.end()) return found->second;
  std::string known;
  for (const auto& [other, dim] : roles_)
    known += concat(known.empty() ? "" : ", ", other, " (", to_string(dim.role), ")");
  throw_error(concat("the letter ", letter, " has no role in this model, which has ", known));
}

char ModelSpaces::letter(Role role) const {
  for (const auto& [letter, dim] : roles_)
    if (dim.role == role) return letter;
  return 0;
}

const Places& ModelSpaces::places(Role role) const {
  static const Places nowhere;
  const auto found = layout_.places.find(role);
  return found == layout_.places.end() ? nowhere : found->second;
}

Axes ModelSpaces::there(const Axes& axes) const {
  Axes found;
  for (const std::string& axis : axes)
    if (mesh().find(axis) >= 0) found.push_back(axis);
  return found;
}

bool ModelSpaces::has_width(const std::string& letters) const {
  return std::any_of(letters.begin(), letters.end(), [&](char l) { return dim(l).role == Role::width; });
}

Space ModelSpaces::with_sequence(Space X, int dim, Place place) const {
  const bool shared = mesh().find(kSequenceAxis) >= 0;
  if (shared && layout_.sequence == Sequence::ring) X = X.zigzag(dim, kSequenceAxis);
  if (shared && layout_.sequence == Sequence::ulysses && place != Place::attending)
    X = X.sharded(dim, kSequenceAxis);
  return X;
}

Space ModelSpaces::with_key_value_heads(Space X, int dim, Place place) const {
  const char queries = letter(Role::heads);
  Axes axes = there(places(Role::key_value_heads).inside);
  if (place == Place::attending && layout_.sequence == Sequence::ulysses)
    for (const std::string& axis : there({kSequenceAxis})) axes.push_back(axis);
  const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
  bool split = false;
  for (const std::string& axis : axes) {
    const int workers = mesh().extent(axis);
    if (queries == 0 || extent(queries) == n)
      X = X.sharded(dim, axis);
    else if (workers > 1 && !std::exchange(split, true))
      X = X.sharded(dim, axis, split_like_queries(extent(queries), n, workers));
    else if (workers > 1)
      X = X.copied(axis);  // splits that overlap do not nest
  }
  return X;
}

void ModelSpaces::check_extents(const std::string& letters, const Space& X) const {
  std::vector<std::int64_t> shape;
  for (const char letter : letters) shape.push_back(extent(letter));
  RIESZ_CHECK(X.shape() == shape, "the vector or weight ", letters, " of this model has the shape ",
              at::IntArrayRef(shape), " (-1: any), and cannot lie in\n  ", to_string(X));
}

ModelSpaces ModelSpaces::with(Place place, const std::string& letters, const Space& X) const {
  check_extents(letters, X);
  ModelSpaces other = *this;
  other.given_.insert_or_assign({place, letters}, X);
  other.made_ = std::make_shared<AllMade>();
  return other;
}

ModelSpaces ModelSpaces::with_weight(const std::string& spec, const Space& W) const {
  check_extents(detail::parse_indices(spec)[1], W);
  ModelSpaces other = *this;
  other.given_weights_.insert_or_assign(spec, W);
  return other;
}

Space ModelSpaces::space(const std::string& letters, Place place) const {
  return made_
      ->get([&](const Made& made) { return made.place == place && made.letters == letters; },
            [&] {
              return Made{place, letters, made_space(letters, place)};
            })
      ->X;
}

Space ModelSpaces::made_space(const std::string& letters, Place place) const {
  const auto given = given_.find({place, letters});
  if (given != given_.end()) return given->second;
  std::vector<std::int64_t> shape;
  for (const char letter : letters) shape.push_back(extent(letter));
  Space X(mesh(), shape);
  const auto axes_of = [&](Role role) {
    return there(place == Place::stream ? places(role).stream : places(role).inside);
  };
  bool batch = false, sequence = false;
  for (int d = 0; d < X.dims(); ++d) {
    const Role role = dim(letters[static_cast<std::size_t>(d)]).role;
    batch = batch || role == Role::batch;
    if (role == Role::sequence && std::exchange(sequence, true)) continue;  // of keys, beside that of queries
    if (role == Role::sequence) X = with_sequence(X, d, place);
    if (role == Role::key_value_heads && place != Place::stream) {
      X = with_key_value_heads(X, d, place);
      continue;
    }
    for (const std::string& axis : axes_of(role)) X = X.sharded(d, axis);
    if (role == Role::heads && place == Place::attending && layout_.sequence == Sequence::ulysses)
      for (const std::string& axis : there({kSequenceAxis})) X = X.sharded(d, axis);
  }
  if (!batch)
    for (const std::string& axis : axes_of(Role::batch)) X = X.copied(axis);
  return X;
}

Space ModelSpaces::stream(const std::string& letters) const { return space(letters, Place::stream); }
Space ModelSpaces::inside(const std::string& letters) const { return space(letters, Place::inside); }
Space ModelSpaces::attending(const std::string& letters) const { return space(letters, Place::attending); }
Space ModelSpaces::stream_or_inside(const std::string& letters) const {
  return has_width(letters) ? stream(letters) : inside(letters);
}

Space ModelSpaces::weight(const std::string& spec) const {
  const auto given = given_weights_.find(spec);
  if (given != given_weights_.end()) return given->second;
  const auto& [x, w, y] = detail::parse_indices(spec);
  const bool up = has_width(x);
  std::vector<std::int64_t> shape;
  for (const char letter : w) shape.push_back(extent(letter));
  Space W(mesh(), shape);
  // Outputs first: between two inner widths an axis can shard but one, and then it is Megatron's column.
  for (const bool outputs : {true, false}) {
    for (std::size_t d = 0; d < w.size(); ++d) {
      const Role role = dim(w[d]).role;
      const bool in_x = x.find(w[d]) != std::string::npos, in_y = y.find(w[d]) != std::string::npos;
      if (in_y != outputs) continue;
      const Places& lies = places(up && in_y && role == Role::width ? Role::inner : role);
      const Axes& axes = in_x && in_y ? lies.inside : in_y ? lies.weight_out : lies.weight_in;
      for (const std::string& axis : there(axes))
        if (W.dim_of(mesh().index(axis)) < 0) W = W.sharded(static_cast<int>(d), axis);
    }
  }
  return W;
}

std::string ModelSpaces::describe() const {
  std::vector<std::vector<std::string>> rows{
      {"", "", "extent", "stream", "inside", "weight in", "weight out"}};
  for (const auto& [letter, dim] : roles_) {
    Places lies = places(dim.role);
    if (dim.role == Role::sequence && layout_.sequence != Sequence::whole) {
      const std::string axis = layout_.sequence == Sequence::ring ? "sp (zigzag)" : "sp";
      lies.stream.insert(lies.stream.begin(), axis);
      lies.inside.insert(lies.inside.begin(), axis);
    }
    const auto shown = [&](Axes axes) {
      std::erase_if(axes, [&](const std::string& axis) {
        const std::string name = axis.substr(0, axis.find(' '));
        return mesh().find(name) < 0 || mesh().extent(name) == 1;
      });
      return joined(axes);
    };
    rows.push_back({std::string(1, letter), to_string(dim.role),
                    dim.extent == Space::any ? "any" : std::to_string(dim.extent), shown(lies.stream),
                    shown(lies.inside), shown(lies.weight_in), shown(lies.weight_out)});
  }
  return table_text(rows, "l", "  ");
}

}  // namespace riesz
