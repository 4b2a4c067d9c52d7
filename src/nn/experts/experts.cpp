// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/experts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/experts/grouped_product.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/local_op.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/primitives/together.h"

namespace riesz {
namespace {

bool has_axis(const Partition& mesh, const std::string& axis) {
  return !axis.empty() && mesh.find(axis) >= 0;
}

bool is_inner(const ExpertPlaces& places, const std::string& axis) {
  return std::find(places.inner.begin(), places.inner.end(), axis) != places.inner.end();
}

ExpertPlaces checked(const std::string& path, const Space& X, ExpertPlaces places) {
  RIESZ_CHECK(X.dims() >= 2 && X.shape().back() != Space::any, "Experts ", path,
              " take tokens of (…, width), not\n  ", to_string(X));
  RIESZ_CHECK(!is_inner(places, places.experts), "Experts ", path, ": axis ", places.experts,
              " is given both to the experts and to their inner width; give it to one");
  std::erase_if(places.inner, [&](const std::string& axis) { return X.partition().find(axis) < 0; });
  return places;
}

/// X with whole tokens: on the axis of experts, and on those that shard the width, the tokens are cut.
Space where_computed(const Space& X, const ExpertPlaces& places) {
  Space T = X;
  const int width = X.dims() - 1, token = X.dims() - 2;
  for (const Axis& axis : X.partition().axes()) {
    const int dim = X.dim_of(X.partition().index(axis.name));
    if (is_inner(places, axis.name))
      T = T.copied(axis.name);
    else if (dim == width || (dim < 0 && axis.name == places.experts))
      T = T.replicated(axis.name).sharded(token, axis.name);
  }
  return T;
}

/// The workers that exchange tokens.
Partition along_experts(const Partition& mesh, const std::string& axis) {
  if (!mesh.active()) return mesh;
  return has_axis(mesh, axis) ? mesh.along(axis) : mesh.subset({mesh.rank()});
}

std::int64_t tokens_of(const Space& T, int rank) {
  const std::vector<std::int64_t> shape = T.local_shape(rank);
  std::int64_t tokens = 1;
  for (std::size_t dim = 0; dim + 1 < shape.size(); ++dim) tokens *= shape[dim];
  return tokens;
}

/// A function of vectors as one of this worker's tensors.
Vector alone(const Partition& mesh, const at::Tensor& x) {
  return {Space(mesh.subset({mesh.rank()}), x.sizes().vec()), x};
}

/// Where a layout puts experts e of inner width f, by the letters "ef".
ExpertPlaces places_of(const ModelSpaces& spaces, const std::string& letters) {
  RIESZ_CHECK(
      letters.size() == 2 && spaces.dim(letters[0]).role.is(expert_role()), "Experts: \"", letters,
      "\" are not the letters of experts and of their inner width, such as \"ef\"; that of experts has "
      "the role expert_role()");
  const Space W = spaces.inside(letters);
  ExpertPlaces places;
  for (const Axis& axis : W.partition().axes()) {
    const int dim = W.dim_of(W.partition().index(axis.name));
    if (dim == 1) places.inner.push_back(axis.name);
    if (dim != 0) continue;
    RIESZ_CHECK(places.experts.empty(), "Experts: the axes ", places.experts, " and ", axis.name,
                " both shard them; a layout gives the role of experts one axis");
    places.experts = axis.name;
  }
  return places;
}

ExpertsOptions with_extents(ExpertsOptions options, const ModelSpaces& spaces, const std::string& letters) {
  options.experts = spaces.extent(letters[0]);
  options.inner = spaces.extent(letters[1]);
  return options;
}

}  // namespace

const Role& expert_role() {
  static const Role role("expert", {.inside = {"ep"}, .weight_in = {"ep"}, .weight_out = {"ep"}});
  return role;
}

Experts::Experts(Module& owner, const std::string& name, const std::string& tokens,
                 const std::string& experts, const ExpertsOptions& options)
    : Experts({owner, name}, owner.spaces_of(name).stream(tokens), places_of(owner.spaces_of(name), experts),
              with_extents(options, owner.spaces_of(name), experts)) {}

Experts::Experts(OwnerAndName place, const Space& X, const ExpertPlaces& places,
                 const ExpertsOptions& options)
    : Layer(std::move(place)),
      places_(checked(path(), X, places)),
      options_(options),
      tokens_(where_computed(X, places_)),
      fibre_(along_experts(X.partition(), places_.experts)),
      axis_(has_axis(X.partition(), places_.experts) ? places_.experts : "subset"),
      parts_(options.experts, options.inner,
             has_axis(X.partition(), places_.experts) ? X.partition().extent(places_.experts) : 1) {
  set_domain(X);
  set_range(X);
  for (std::int64_t expert = 0; expert < options.experts; ++expert) {
    const std::string number = std::to_string(expert) + ".";
    const Space in = weight_space(expert, 0, false), out = weight_space(expert, 1, false);
    if (options.gated) weights_.gate.push_back(parameter(number + options.gate, in, {options.initial, true}));
    weights_.up.push_back(parameter(number + options.up, in, {options.initial, true}));
    weights_.down.push_back(parameter(number + options.down, out, {options.initial_down, true}));
  }
}

Space Experts::weight_space(std::int64_t expert, int inner_dim, bool read) const {
  const Partition& mesh = tokens_.partition();
  const std::int64_t width = tokens_.shape().back();
  Space W(mesh, inner_dim == 0 ? std::vector<std::int64_t>{options_.inner, width}
                               : std::vector<std::int64_t>{width, options_.inner});
  if (has_axis(mesh, places_.experts)) W = W.sharded(inner_dim, places_.experts, parts_.inner_of(expert));
  for (const std::string& axis : places_.inner) W = W.sharded(inner_dim, axis);
  if (!read) return W;
  for (const Axis& axis : mesh.axes())
    if (axis.name != places_.experts && tokens_.dim_of(mesh.index(axis.name)) >= 0) W = W.copied(axis.name);
  return W;
}

Space Experts::gates_space(std::int64_t last) const {
  std::vector<std::int64_t> shape = tokens_.shape();
  shape.back() = last;
  Space G = tokens_.with_shape(shape);
  for (const std::string& axis : places_.inner) G = G.replicated(axis);
  return G;
}

Vector Experts::forward(const Vector& x, const Routing& routing) { return run(x, routing, nullptr); }

Vector Experts::forward(const Vector& x, const Routing& routing,
                        const std::function<Vector(const Vector&)>& beside) {
  return run(x, routing, &beside);
}

Vector Experts::run(const Vector& x, const Routing& routing,
                    const std::function<Vector(const Vector&)>* beside) {
  const Space T = tokens_.with_shape(x.space().shape());
  const Space G = [&] {
    std::vector<std::int64_t> shape = T.shape();
    shape.back() = routing.choices.k;
    return gates_space(routing.choices.k).with_shape(shape);
  }();
  RIESZ_CHECK(routing.gates.space() == G, "Experts ", path(), " take gates of their tokens in\n  ",
              to_string(G), "\nnot in\n  ", to_string(routing.gates.space()),
              "\nbring the logits to gates_space(experts) before the gate (to_space)");
  const at::ScalarType type = options_.compute_type.value_or(x.local().scalar_type());
  const Vector own = to_space(Vector(x.space(), x.local().to(type), x.is_constant()), T);
  Space copies = G;
  for (const std::string& axis : places_.inner) copies = copies.copied(axis);
  const Vector gates = to_space(routing.gates, copies);
  const Partition& mesh = T.partition();
  if (!mesh.active()) {
    // What comes back to it goes to all that y depends on there.
    std::vector<at::Tensor> inputs{own.local(), gates.local()};
    for (const auto* each : {&weights_.gate, &weights_.up, &weights_.down})
      for (const Parameter& weight : *each) inputs.push_back(weight.value().local());
    const Vector y = detail::elsewhere(x.space(), inputs, false);
    return beside != nullptr ? y + (*beside)(x) : y;
  }

  std::vector<std::int64_t> tokens;
  RowCounts known;
  for (const int worker : fibre_.workers()) {
    const int rank = mesh.rank_in(worker);
    tokens.push_back(tokens_of(T, rank));
    if (!routing.counts.empty()) known.push_back(routing.counts[static_cast<std::size_t>(rank)]);
  }
  const Split split = Split::sizes(tokens);
  const std::int64_t width = T.shape().back();
  const Space X = Space(fibre_, {split.extent(), width}).sharded(0, axis_, split);
  const at::Device device = own.local().device();
  const Dispatch d = known.empty() ? dispatch(X, axis_, parts_, routing.choices, device)
                                   : dispatch(X, axis_, parts_, routing.choices, known, device);
  const Vector flat(X, own.local().reshape({-1, width}), own.is_constant());
  const Vector of_choices(d.gates.domain(), gates.local().reshape({-1}), gates.is_constant());
  std::vector<Vector> there;
  std::optional<Vector> other;
  if (beside == nullptr) {
    there = together({d.tokens, d.gates}, {flat, of_choices});
  } else {
    Pending coming = d.tokens.start(flat);
    const Vector their_gates = d.gates(of_choices);
    other = (*beside)(x);
    there = {coming.wait(), their_gates};
  }
  const Operator combine = adjoint(d.tokens);
  const Vector z(combine.domain(), computed(there[0].local(), there[1].local(), d.rows));
  const Vector back = combine(z);
  Space Y = T;
  for (const std::string& axis : places_.inner) Y = Y.partial(axis);
  const Vector y = to_space(Vector(Y, back.local().view(Y.local_shape())), x.space());
  return other ? y + *other : y;
}

std::vector<at::Tensor> Experts::held(const std::vector<Parameter>& by_expert, int inner_dim,
                                      at::ScalarType type) const {
  const int worker = has_axis(tokens_.partition(), places_.experts) ? fibre_.rank() : 0;
  const Interval mine = parts_.split().held(worker).front();
  std::vector<at::Tensor> here;
  for (std::int64_t expert = 0; expert < parts_.experts(); ++expert) {
    const Vector w = by_expert[static_cast<std::size_t>(expert)].value();
    const at::Tensor local = to_space(w, weight_space(expert, inner_dim, true)).local();
    const Interval of = parts_.parts_of(expert);
    if (of.begin < mine.end && mine.begin < of.end) here.push_back(local.to(type));
  }
  return here;
}

at::Tensor Experts::computed(const at::Tensor& rows, const at::Tensor& gates,
                             const std::vector<std::int64_t>& counts) {
  const Partition& mesh = tokens_.partition();
  const at::ScalarType type = rows.scalar_type();
  const at::Tensor up = detail::grouped_product(rows, held(weights_.up, 0, type), counts);
  const Activation a(options_.activation);
  const Vector inner =
      options_.gated
          ? gated(a, alone(mesh, detail::grouped_product(rows, held(weights_.gate, 0, type), counts)),
                  alone(mesh, up))
          : activate(a, alone(mesh, up));
  const at::Tensor out = detail::grouped_product(inner.local(), held(weights_.down, 1, type), counts);
  return out.mul(gates.unsqueeze(1).to(type));
}

std::string Experts::describe() const {
  return concat(options_.experts, " experts", options_.gated ? ", gated" : "", " with ", options_.activation,
                ", inner width ", options_.inner);
}

}  // namespace riesz
