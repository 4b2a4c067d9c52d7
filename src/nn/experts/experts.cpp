// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/experts.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/split_with_sizes.h>

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

/// Runs of rows of y, and to each row of a run the row of that run added, from this column on.
at::Tensor with_rows_added(const at::Tensor& y, const std::vector<at::Tensor>& added,
                           std::int64_t first_column, const std::vector<std::int64_t>& counts) {
  std::vector<at::Tensor> runs = at::split_with_sizes(y, counts);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::int64_t n = added[i].numel(), after = y.size(1) - first_column - n;
    if (n == 0) continue;  // another worker adds it
    runs[i] = runs[i].add(n == y.size(1) ? added[i] : at::constant_pad_nd(added[i], {first_column, after}));
  }
  return at::cat(runs);
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
  RIESZ_CHECK(!options.gated || (options.up_bias.empty() && options.down_bias.empty()), "Experts ", path(),
              " are gated and have a bias; only experts that are not gated have biases");
  set_domain(X);
  set_range(X);
  const std::int64_t C = X.shape().back(), F = options.inner;
  const auto weights = [&](std::int64_t expert, bool down) {
    return down != options.transposed ? with_inner(expert, {C, F}, 1) : with_inner(expert, {F, C}, 0);
  };
  for (std::int64_t expert = 0; expert < options.experts; ++expert) {
    const std::string number = std::to_string(expert) + ".";
    const Space in = weights(expert, false), out = weights(expert, true);
    if (options.gated) weights_.gate.push_back(parameter(number + options.gate, in, {options.initial, true}));
    weights_.up.push_back(parameter(number + options.up, in, {options.initial, true}));
    if (!options.up_bias.empty())
      weights_.up_bias.push_back(parameter(number + options.up_bias, with_inner(expert, {F}, 0)));
    weights_.down.push_back(parameter(number + options.down, out, {options.initial_down, true}));
    if (!options.down_bias.empty())
      weights_.down_bias.push_back(parameter(number + options.down_bias, down_bias_space(expert)));
  }
}

bool Experts::Weights::trained() const {
  for (const std::vector<Parameter>* each : all())
    for (const Parameter& weight : *each)
      if (weight.trained()) return true;
  return false;
}

Space Experts::with_inner(std::int64_t expert, const std::vector<std::int64_t>& shape, int inner_dim) const {
  const Partition& mesh = tokens_.partition();
  Space W(mesh, shape);
  if (has_axis(mesh, places_.experts)) W = W.sharded(inner_dim, places_.experts, parts_.inner_of(expert));
  for (const std::string& axis : places_.inner) W = W.sharded(inner_dim, axis);
  return W;
}

Space Experts::down_bias_space(std::int64_t expert) const {
  const Partition& mesh = tokens_.partition();
  const std::int64_t width = tokens_.shape().back();
  Space B(mesh, {width});
  if (has_axis(mesh, places_.experts)) {
    const Split inner = parts_.inner_of(expert);
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(inner.workers()), 0);
    int first = 0;
    while (inner[first].size() == 0) ++first;
    sizes[static_cast<std::size_t>(first)] = width;
    B = B.sharded(0, places_.experts, Split::sizes(sizes));
  }
  for (const std::string& axis : places_.inner) B = B.sharded(0, axis);
  return B;
}

Space Experts::as_read(Space W) const {
  const Partition& mesh = tokens_.partition();
  for (const Axis& axis : mesh.axes())
    if (axis.name != places_.experts && tokens_.dim_of(mesh.index(axis.name)) >= 0) W = W.copied(axis.name);
  return W;
}

Space Experts::gate_space(std::int64_t last) const {
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
    return gate_space(routing.choices.k).with_shape(shape);
  }();
  RIESZ_CHECK(routing.gate_values.space() == G, "Experts ", path(),
              " take gate values of their tokens in\n  ", to_string(G), "\nnot in\n  ",
              to_string(routing.gate_values.space()),
              "\nbring the logits to gate_space(experts) before the gate (to_space)");
  const at::ScalarType type = options_.compute_type.value_or(x.local().scalar_type());
  const Vector own = to_space(Vector(x.space(), x.local().to(type), x.is_constant()), T);
  Space copies = G;
  for (const std::string& axis : places_.inner) copies = copies.copied(axis);
  const Vector gate_values = to_space(routing.gate_values, copies);
  const Partition& mesh = T.partition();
  const bool constant = own.is_constant() && gate_values.is_constant() && !weights_.trained();
  if (!mesh.active()) {
    // What comes back to it goes to all that y depends on there.
    std::vector<at::Tensor> inputs{own.local(), gate_values.local()};
    for (const std::vector<Parameter>* each : weights_.all())
      for (const Parameter& weight : *each) inputs.push_back(weight.value().local());
    const Vector y = detail::elsewhere(x.space(), inputs, constant);
    return beside != nullptr ? y + (*beside)(x) : y;
  }

  RowCounts known;
  if (!routing.counts.empty())
    for (const int worker : fibre_.workers())
      known.push_back(routing.counts[static_cast<std::size_t>(mesh.rank_in(worker))]);
  const Split split = Split::sizes(tokens_along(T));
  const std::int64_t width = T.shape().back();
  const Space X = Space(fibre_, {split.extent(), width}).sharded(0, axis_, split);
  const at::Device device = own.local().device();
  const Dispatch d = known.empty() ? dispatch(X, axis_, parts_, routing.choices, device)
                                   : dispatch(X, axis_, parts_, routing.choices, known, device);
  const Vector flat(X, own.local().reshape({-1, width}), own.is_constant());
  const Vector of_choices(d.gate_values.domain(), gate_values.local().reshape({-1}),
                          gate_values.is_constant());
  std::vector<Vector> there;
  std::optional<Vector> other;
  if (beside == nullptr) {
    there = together({d.tokens, d.gate_values}, {flat, of_choices});
  } else {
    Pending coming = d.tokens.start(flat);
    const Vector their_gate_values = d.gate_values(of_choices);
    other = (*beside)(x);
    there = {coming.wait(), their_gate_values};
  }
  const Operator combine = adjoint(d.tokens);
  const Vector z(combine.domain(), computed(there[0].local(), there[1].local(), d.rows), constant);
  const Vector back = combine(z);
  Space Y = T;
  for (const std::string& axis : places_.inner) Y = Y.partial(axis);
  const Vector y = to_space(Vector(Y, back.local().view(Y.local_shape()), constant), x.space());
  return other ? y + *other : y;
}

std::vector<std::int64_t> Experts::tokens_along(const Space& T) const {
  std::vector<std::int64_t> tokens;
  for (const int worker : fibre_.workers()) tokens.push_back(tokens_of(T, T.partition().rank_in(worker)));
  return tokens;
}

ExpertRows Experts::expected_rows(const std::vector<std::int64_t>& shape, std::int64_t k) const {
  const std::vector<std::int64_t> tokens = tokens_along(tokens_.with_shape(shape));
  return riesz::expected_rows(parts_, {tokens.begin(), tokens.end()}, fibre_.rank(), k);
}

ExpertRows Experts::most_rows(const std::vector<std::int64_t>& shape, std::int64_t k) const {
  const std::vector<std::int64_t> tokens = tokens_along(tokens_.with_shape(shape));
  return riesz::most_rows(parts_, {tokens.begin(), tokens.end()}, fibre_.rank(), k);
}

std::vector<at::Tensor> Experts::held(const std::vector<Parameter>& by_expert, at::ScalarType type) const {
  const int worker = has_axis(tokens_.partition(), places_.experts) ? fibre_.rank() : 0;
  const Interval mine = parts_.split().held(worker).front();
  std::vector<at::Tensor> here;
  for (std::int64_t expert = 0; expert < parts_.experts(); ++expert) {
    const Parameter& weight = by_expert[static_cast<std::size_t>(expert)];
    const at::Tensor local = to_space(weight.value(), as_read(weight.space())).local();
    const Interval of = parts_.parts_of(expert);
    if (of.begin < mine.end && mine.begin < of.end) here.push_back(local.to(type));
  }
  return here;
}

at::Tensor Experts::product(const at::Tensor& rows, const std::vector<Parameter>& weights,
                            const std::vector<Parameter>& biases, std::int64_t first_column,
                            const std::vector<std::int64_t>& counts) const {
  const at::ScalarType type = rows.scalar_type();
  std::vector<at::Tensor> here = held(weights, type);
  if (options_.transposed)
    for (at::Tensor& weight : here) weight = weight.t();
  const at::Tensor y = detail::grouped_product(rows, here, counts);
  return biases.empty() ? y : with_rows_added(y, held(biases, type), first_column, counts);
}

at::Tensor Experts::computed(const at::Tensor& rows, const at::Tensor& gate_values,
                             const std::vector<std::int64_t>& counts) {
  const Partition& mesh = tokens_.partition();
  const at::Tensor up = product(rows, weights_.up, weights_.up_bias, 0, counts);
  const Activation a(options_.activation);
  const Vector inner =
      options_.gated ? gated(a, alone(mesh, product(rows, weights_.gate, {}, 0, counts)), alone(mesh, up))
                     : activate(a, alone(mesh, up));
  const std::int64_t first = weights_.down_bias.empty() ? 0 : first_column_of_bias();
  const at::Tensor out = product(inner.local(), weights_.down, weights_.down_bias, first, counts);
  return out.mul(gate_values.unsqueeze(1).to(rows.scalar_type()));
}

std::int64_t Experts::first_column_of_bias() const {
  Space B(tokens_.partition(), {tokens_.shape().back()});
  for (const std::string& axis : places_.inner) B = B.sharded(0, axis);
  const Intervals columns = B.boxes(tokens_.partition().rank()).front();
  return columns.empty() ? 0 : columns.front().begin;
}

std::string Experts::describe() const {
  return concat(options_.experts, " experts", options_.gated ? ", gated" : "", " with ", options_.activation,
                ", inner width ", options_.inner);
}

}  // namespace riesz
