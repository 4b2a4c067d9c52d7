// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layout/model_spaces.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/table_text.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/nn/stages/stages.h"

namespace riesz {
namespace {

std::string shown(const ShardingAxis& axis) {
  return axis.name + (axis.kind == ShardingAxis::Kind::zigzag ? " (zigzag)" : "");
}

/// X with an axis that shards this dim, unless it shards another.
Space sharded_by(const Space& X, int dim, const ShardingAxis& axis) {
  if (X.dim_of(X.partition().index(axis.name)) >= 0) return X;
  return axis.kind == ShardingAxis::Kind::zigzag ? X.zigzag(dim, axis.name) : X.sharded(dim, axis.name);
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

bool operator==(const Places& a, const Places& b) {
  return a.stream == b.stream && a.inside == b.inside && a.weight_in == b.weight_in &&
         a.weight_out == b.weight_out && a.attending == b.attending;
}

/// Do layouts treat two roles in one way?
bool alike(const Role& a, const Role& b) {
  if (a.same_as(b)) return true;
  const bool one_like =
      a.like().has_value() == b.like().has_value() && (!a.like() || alike(*a.like(), *b.like()));
  const bool one_axes =
      (a.axes() == nullptr) == (b.axes() == nullptr) && (a.axes() == nullptr || *a.axes() == *b.axes());
  return a == b && one_like && one_axes && a.home() == b.home();
}

/// The axes that a role has of its own, or the role that it lies like; or nullptr.
const Places* own_axes(const Role& role) {
  const std::optional<Role> like = role.like();  // which the role holds
  return role.axes() != nullptr || !like ? role.axes() : own_axes(*like);
}

}  // namespace

ModelSpaces::ModelSpaces(Layout layout, Roles roles) : layout_(std::move(layout)), roles_(std::move(roles)) {
  for (const auto& [letter, dim] : roles_) {
    const bool any = dim.role.is(Role::batch) || dim.role.is(Role::sequence);
    RIESZ_CHECK(dim.extent >= 1 || (any && dim.extent == Space::any), "roles: the dim ", letter, ", ",
                to_string(dim.role), ", has an extent of ", dim.extent, "; it is at least 1",
                any ? ", or of any extent" : "");
    for (const auto& [other, of_other] : roles_)
      RIESZ_CHECK(dim.role != of_other.role || alike(dim.role, of_other.role), "roles: the dims ", letter,
                  " and ", other, " have roles of one name, ", to_string(dim.role),
                  ", that layouts treat differently; give one of them another name");
  }
  check_heads();
  if (!layout_.stages.empty())
    stages_ = std::make_shared<const Stages>(layout_.stages, roles_, layout_.stage_of);
  else
    check_axes();
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

char ModelSpaces::queries_of(char keys) const {
  if (const char of = dim(keys).of; of != 0) return of;
  for (const auto& [letter, dim] : roles_)
    if (dim.role.is(Role::heads)) return letter;
  return 0;
}

void ModelSpaces::check_heads() const {
  std::string kinds;
  for (const auto& [letter, dim] : roles_)
    if (dim.role.is(Role::heads)) kinds += concat(kinds.empty() ? "" : ", ", letter);
  for (const auto& [letter, dim] : roles_) {
    if (!dim.role.is(Role::key_value_heads)) continue;
    RIESZ_CHECK(dim.of != 0 || kinds.size() <= 1, "roles: the key and value heads ", letter,
                " may be those of any of the query heads ", kinds,
                "; say of which, as in Dim{Role::key_value_heads, ", dim.extent, ", '", kinds[0], "'}");
    const char queries = queries_of(letter);
    if (queries == 0) continue;
    RIESZ_CHECK(roles_.contains(queries) && roles_.at(queries).role.is(Role::heads),
                "roles: the key and value heads ", letter, " are those of the letter ", queries,
                ", which is no letter of query heads; there are ", kinds.empty() ? "none" : kinds);
    RIESZ_CHECK(extent(queries) % dim.extent == 0, "roles: ", extent(queries),
                " query heads are no multiple of ", dim.extent,
                " key and value heads; as many queries share each");
  }
}

void ModelSpaces::check_axes() const {
  if (!layout_.uses_all_axes) return;
  std::set<std::string> known{"dp"};
  const auto add = [&known](const Places& lies) {
    for (const ShardingAxes* all : {&lies.stream, &lies.inside, &lies.weight_in, &lies.weight_out})
      for (const ShardingAxis& axis : *all) known.insert(axis.name);
    for (const ShardingAxis& axis : lies.attending.value_or(ShardingAxes{})) known.insert(axis.name);
  };
  for (const auto& [role, lies] : layout_.places) add(lies);
  for (const auto& [letter, dim] : roles_)
    if (const Places* own = own_axes(dim.role)) add(*own);
  for (const Axis& axis : mesh().axes())
    RIESZ_CHECK(axis.extent == 1 || known.contains(axis.name), "spaces::", layout_.name, ": the grid ",
                to_string(mesh()), " has an axis ", axis.name,
                ", which this layout does not use; give its workers to another axis");
}

const Places& ModelSpaces::places(const Role& role) const {
  static const Places nowhere;
  for (std::optional<Role> of = role; of; of = of->like()) {
    if (const auto found = layout_.places.find(*of); found != layout_.places.end()) return found->second;
    if (of->axes() != nullptr) return *of->axes();
  }
  return nowhere;
}

ShardingAxes ModelSpaces::there(const ShardingAxes& axes) const {
  ShardingAxes found;
  for (const ShardingAxis& axis : axes)
    if (mesh().find(axis.name) >= 0) found.push_back(axis);
  return found;
}

ShardingAxes ModelSpaces::axes(const Role& role, Place place) const {
  const Places& lies = places(role);
  if (place == Place::stream) return there(lies.stream);
  return there(place == Place::attending && lies.attending ? *lies.attending : lies.inside);
}

bool ModelSpaces::in_stream(const std::string& letters) const {
  const auto any = [&](Role::Home home) {
    return std::any_of(letters.begin(), letters.end(), [&](char l) { return dim(l).role.home() == home; });
  };
  return any(Role::Home::stream) && !any(Role::Home::inside);
}

Space ModelSpaces::with_key_value_heads(Space X, int dim, char letter, const ShardingAxes& axes) const {
  const char queries = queries_of(letter);
  const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
  bool split = false;
  for (const ShardingAxis& axis : axes) {
    const int workers = mesh().extent(axis.name);
    if (X.dim_of(mesh().index(axis.name)) >= 0) continue;  // another dim's
    if (queries == 0 || extent(queries) == n)
      X = sharded_by(X, dim, axis);
    else if (workers > 1 && !std::exchange(split, true))
      X = X.sharded(dim, axis.name, split_like_queries(extent(queries), n, workers));
    else if (workers > 1)
      X = X.copied(axis.name);  // splits that overlap do not nest
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
  const auto shard = [&](int d) {
    const char letter = letters[static_cast<std::size_t>(d)];
    const Role& role = dim(letter).role;
    if (role.is(Role::key_value_heads) && place != Place::stream) {
      X = with_key_value_heads(X, d, letter, axes(role, place));
    } else {
      for (const ShardingAxis& axis : axes(role, place)) X = sharded_by(X, d, axis);
    }
  };
  bool batch = false, sequence = false;
  for (int d = 0; d < X.dims(); ++d)
    if (own_axes(dim(letters[static_cast<std::size_t>(d)]).role) != nullptr) shard(d);
  for (int d = 0; d < X.dims(); ++d) {
    const Role& role = dim(letters[static_cast<std::size_t>(d)]).role;
    batch = batch || role.is(Role::batch);
    if (role.is(Role::sequence) && std::exchange(sequence, true))
      continue;  // of keys, beside that of queries
    if (own_axes(role) == nullptr) shard(d);
  }
  if (batch) return X;
  for (const ShardingAxis& axis : axes(Role::batch, place))
    if (X.dim_of(mesh().index(axis.name)) < 0) X = X.copied(axis.name);
  return X;
}

Space ModelSpaces::stream(const std::string& letters) const { return space(letters, Place::stream); }
Space ModelSpaces::inside(const std::string& letters) const { return space(letters, Place::inside); }
Space ModelSpaces::attending(const std::string& letters) const { return space(letters, Place::attending); }
Space ModelSpaces::stream_or_inside(const std::string& letters) const {
  return in_stream(letters) ? stream(letters) : inside(letters);
}

Space ModelSpaces::weight(const std::string& spec) const {
  const auto given = given_weights_.find(spec);
  if (given != given_weights_.end()) return given->second;
  const auto& [x, w, y] = detail::parse_indices(spec);
  const bool up = in_stream(x);
  std::vector<std::int64_t> shape;
  for (const char letter : w) shape.push_back(extent(letter));
  Space W(mesh(), shape);
  const auto shard = [&](bool own, bool outputs) {
    for (std::size_t d = 0; d < w.size(); ++d) {
      const Role& role = dim(w[d]).role;
      const bool in_x = x.find(w[d]) != std::string::npos, in_y = y.find(w[d]) != std::string::npos;
      if (in_y != outputs || (own_axes(role) != nullptr) != own) continue;
      const Places& lies = places(up && in_y && role.home() == Role::Home::stream ? Role::inner : role);
      const ShardingAxes& axes = in_x && in_y ? lies.inside : in_y ? lies.weight_out : lies.weight_in;
      for (const ShardingAxis& axis : there(axes)) W = sharded_by(W, static_cast<int>(d), axis);
    }
  };
  // Outputs first: between two inner widths an axis can shard but one, and then it is Megatron's column.
  for (const bool own : {true, false})
    for (const bool outputs : {true, false}) shard(own, outputs);
  return W;
}

std::string ModelSpaces::describe() const {
  const bool apart = std::any_of(roles_.begin(), roles_.end(),
                                 [&](const auto& each) { return places(each.second.role).attending; });
  std::vector<std::vector<std::string>> rows{
      {"", "", "extent", "stream", "inside", "weight in", "weight out"}};
  if (apart) rows.front().push_back("attending");
  const auto text = [&](const ShardingAxes& axes) {
    std::string all;
    for (const ShardingAxis& axis : there(axes))
      if (mesh().extent(axis.name) > 1) all += (all.empty() ? "" : "/") + shown(axis);
    return all.empty() ? "-" : all;
  };
  for (const auto& [letter, dim] : roles_) {
    const Places& lies = places(dim.role);
    rows.push_back({std::string(1, letter), to_string(dim.role),
                    dim.extent == Space::any ? "any" : std::to_string(dim.extent), text(lies.stream),
                    text(lies.inside), text(lies.weight_in), text(lies.weight_out)});
    if (apart) rows.back().push_back(text(lies.attending.value_or(lies.inside)));
  }
  return table_text(rows, "l", "  ");
}

}  // namespace riesz
