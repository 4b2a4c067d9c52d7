// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/call_scope.h"
#include "riesz/nn/context.h"
#include "riesz/nn/layout/model_spaces.h"
#include "riesz/nn/parameter.h"
#include "riesz/nn/recompute/recompute.h"
#include "riesz/nn/result_watch.h"
#include "riesz/nn/stages/crossing.h"
#include "riesz/nn/stages/each_vector.h"
#include "riesz/nn/stages/known_ranges.h"
#include "riesz/nn/stages/unwritten.h"
#include "riesz/partition/vector.h"

namespace riesz {

class Module;

/// A parameter that a module of one stage uses and a module on another partition owns (`Parameter::lent`).
struct LentParameter {
  Parameter here;  ///< as it is used
  Parameter owner;
  int stage = 0;  ///< of the module that uses it
};

/// A module's place: the module whose member it is, and its name there; or a name alone.
struct OwnerAndName {
  OwnerAndName(std::string alone) : name(std::move(alone)) {}
  OwnerAndName(const char* alone) : name(alone) {}
  OwnerAndName(Module& under, std::string as) : owner(&under), name(std::move(as)) {}

  Module* owner = nullptr;
  std::string name;
};

/// A part of a model: a name, parameters, and parts of its own, in the order of their construction. An owner
/// knows its parts by address, so modules do not move: they are members, or in a container that leaves them
/// in place (std::deque, std::list). A module that is called derives from `Layer`.
class Module {
 public:
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// From the root, such as "transformer.h.0.attn"; parts without a name are left out.
  const std::string& path() const { return origin_->layer; }
  /// The parts themselves, in the order of their construction.
  const std::vector<Module*>& parts() const { return children_; }
  /// All parameters of this module and below, in order, under their full names.
  std::vector<Parameter> parameters() const;
  /// Parameters that this module and those below use and a module on another partition owns, in order.
  std::vector<LentParameter> lent() const;
  /// Other modules' parameters that this one itself uses (`lent_parameter`), by their owners.
  const std::vector<Parameter>& used_of_others() const { return used_of_others_; }
  /// Draws every parameter by (seed, full name, global index), when it is first asked for. So the weights are
  /// the same at every layout.
  /// @throws Error naming it where two parameters have one full name, or two parts that draw (`draws`) have
  /// one path.
  void initialise(std::uint64_t seed, at::ScalarType dtype, at::Device device = at::kCPU);
  /// Freezes every parameter of this module and below (`Parameter::freeze`). Only what is built later, or
  /// elsewhere, is trained, such as adapters beside a published model. Call it before optimizers and Zero are
  /// made. @throws Error if one has a keeper.
  void freeze();

  /// The spaces of its argument and of its result. A dim of any extent takes its extent from each value.
  /// Nothing where the module has not set them.
  const std::optional<Space>& domain() const { return domain_; }
  const std::optional<Space>& range() const { return range_; }
  /// Where the model's vectors and weights lie, by letters. @throws Error if neither this module nor an owner
  /// has a layout.
  const ModelSpaces& spaces() const;
  /// The spaces of a part of this name, which may be of another stage.
  const ModelSpaces& spaces_of(const std::string& part) const;

  /// The stage (`Stages`) of this module, its parameters and the vectors it makes. Nothing if the model is
  /// not placed.
  std::optional<int> stage() const;
  /// Are parts of it on another stage? Then its own code runs between stages, and a call of it enters none.
  bool spans_stages() const { return spans_; }
  /// Where the parts of the model lie, or nullptr.
  const Stages* stages() const { return stages_.get(); }
  /// A line for each stage: its grid, the ranks of its workers, and the parts of this module on it. Empty
  /// where the model is not placed.
  std::string placement() const;
  /// The paths of this module and of all below, in order.
  std::vector<std::string> paths() const;

  /// Makes each later call of this module a region that runs again in backward (`recompute`); nullopt ends
  /// that. `RecomputePolicy` sets it for a whole model.
  void set_recompute(std::optional<RecomputeOptions> options) { recompute_ = std::move(options); }
  const std::optional<RecomputeOptions>& recompute_options() const { return recompute_; }

  /// Do its calls draw random numbers by its path, as a dropout's do? Then no other module may have that
  /// path.
  virtual bool draws() const { return false; }

  /// Are its parts blocks of one kind, called one after another?
  virtual bool is_repeated() const { return false; }

  /// The module in a line, such as "Linear btc,fc->btf".
  virtual std::string describe() const = 0;
  /// This module and those below, a line each, indented, with full names, spaces and parameters. Lines of
  /// untrained parameters (frozen ones and buffers) end in "frozen".
  std::string tree() const;

 protected:
  explicit Module(OwnerAndName place);
  /// The root of a model whose parts take their spaces from letters.
  Module(OwnerAndName place, const ModelSpaces& spaces);

  /// Makes a parameter of this module. Hold it in a member.
  Parameter parameter(const std::string& name, const Space& space, const ParameterOptions& options = {});
  /// Another module's parameter as this module uses it, where its own would lie in W. It is that parameter
  /// itself. But if the model is placed and the parameter lies on another partition than W, it is lent.
  Parameter lent_parameter(const Parameter& owner, const Space& W);
  void set_domain(const Space& X) { domain_ = X; }
  void set_range(const Space& Y) { range_ = Y; }

  /// While the result lives, traffic is counted and errors are reported as this module's.
  CallScope call_scope() const { return CallScope(origin_); }
  const std::shared_ptr<const Origin>& origin() const { return origin_; }
  /// @throws Error naming both spaces unless x is in the domain, if there is one.
  void check_domain(const Vector& x) const;

  /// Would a call now begin a stage, or end one?
  bool changes_stage() const {
    return stages_ != nullptr && !detail::StageScope::in(stages_.get(), spans_ ? -1 : stage_);
  }
  detail::StageScope stage_scope() const { return {stages_.get(), spans_ ? -1 : stage_}; }
  /// Brings the vectors among the arguments of a call to its stage. `first`, the first argument's first
  /// vector, comes to the module's domain, or without one to its first part's, where it fits. Others come to
  /// where axes of the same names lie (`Space::on`).
  void enter(const std::vector<Vector*>& arguments, const Vector* first) const;
  /// The results of its earlier calls, if it lies elsewhere; else nullptr.
  detail::KnownRanges* known_ranges() const { return known_ranges_.get(); }

 private:
  /// Its place among the stages, once it is known under which.
  void take_stage();
  /// Puts this module, and those below, that draw into `by_path`. @throws Error naming both of one path.
  void check_draws(std::map<std::string, std::string>& by_path, const std::string& place) const;
  /// Appends this module's path, or its parts', to the text of its stage.
  void name_parts(std::vector<std::string>& of_stages) const;
  /// Where a vector that comes from another partition is to lie; `first`: it is the first argument's first.
  Space target(const Vector& x, bool first) const;
  /// Its domain or, without one, its first part's.
  const std::optional<Space>& first_domain() const;

  Module* owner_ = nullptr;
  std::string name_;
  std::shared_ptr<const Origin> origin_;       // its path, made once for all calls
  std::shared_ptr<const ModelSpaces> spaces_;  // its owner's, unless it has its own
  std::shared_ptr<const Stages> stages_;
  int stage_ = 0;
  bool spans_ = false;
  std::unique_ptr<detail::KnownRanges> known_ranges_;  // if it lies elsewhere
  std::vector<Module*> children_;
  std::vector<Parameter> parameters_;
  std::vector<LentParameter> lent_;
  std::vector<Parameter> used_of_others_;
  std::optional<Space> domain_;
  std::optional<Space> range_;
  std::optional<RecomputeOptions> recompute_;
};

namespace detail {

/// May a call of `Self` be made twice? Its arguments are copied, and read alone.
template <typename Self, typename... Arguments>
concept CanRunAgain = (std::copy_constructible<std::decay_t<Arguments>> && ...) &&
                      (std::same_as<std::decay_t<Arguments>, std::remove_cvref_t<Arguments>> && ...) &&
                      requires(Self& self, const std::decay_t<Arguments>&... arguments) {
  { self.forward(arguments...) } -> std::copy_constructible;
  requires std::is_object_v<decltype(self.forward(arguments...))>;
  requires !std::is_const_v<decltype(self.forward(arguments...))>;
};

}  // namespace detail

/// A module that can be called. `class Mlp : public Layer<Mlp>` has a `forward`, and `mlp(x)` calls it.
/// `forward` may take and return vectors, and structs or tuples of them. The call checks that its first
/// argument, if it is a vector, is in the domain, and counts all traffic for this module. The call is a
/// template, so it cannot tell the type of a bare {…}: name the struct, as Options{…}.
template <typename Self>
class Layer : public Module {
 public:
  explicit Layer(OwnerAndName place) : Module(std::move(place)) {}
  /// The root of a model whose parts take their spaces from letters.
  Layer(OwnerAndName place, const ModelSpaces& spaces) : Module(std::move(place), spaces) {}

  template <typename... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) {
    return call(static_cast<Self&>(*this), std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) const {
    return call(static_cast<const Self&>(*this), std::forward<Arguments>(arguments)...);
  }

 private:
  template <typename Called, typename... Arguments>
  static decltype(auto) carry_out(Called& self, Arguments&&... arguments) {
    using Result = decltype(run_forward(self, std::forward<Arguments>(arguments)...));
    if constexpr (std::is_object_v<Result> && !std::is_const_v<Result> && has_vectors<Result>) {
      if (detail::ResultWatch* watch = detail::ResultWatch::current()) {
        Result result = run_forward(self, std::forward<Arguments>(arguments)...);
        watch->gave(self, detail::vectors_of(result));
        return result;
      }
    }
    return run_forward(self, std::forward<Arguments>(arguments)...);
  }

  template <typename Called, typename... Arguments>
  static decltype(auto) run_forward(Called& self, Arguments&&... arguments) {
    const std::optional<RecomputeOptions>& again = self.recompute_options();
    if constexpr (detail::CanRunAgain<Called, Arguments...>) {
      if (again && detail::keeps_for_backward())
        return recompute(
            *again, [&self](const auto&... given) { return self.forward(given...); }, arguments...);
    } else {
      RIESZ_CHECK(
          !again, "Module ", self.path(),
          " is to run again in backward, but is called with what it writes to, or with what cannot be "
          "copied; call a part of it that takes and gives vectors with recompute(region, x…)");
    }
    return self.forward(std::forward<Arguments>(arguments)...);
  }

  template <typename Callee, typename... Arguments>
  static decltype(auto) call(Callee& self, Arguments&&... arguments) {
    const Layer& layer = self;
    const CallScope scope = layer.call_scope();
    if (layer.changes_stage()) return call_in_stage(self, std::forward<Arguments>(arguments)...);
    layer.check_first(arguments...);
    return carry_out(self, std::forward<Arguments>(arguments)...);
  }
  /// The same where the vectors among the arguments may lie on another stage: then copies of the arguments
  /// that have any are passed on, in which they are brought here.
  template <typename Callee, typename... Arguments>
  static decltype(auto) call_in_stage(Callee& self, Arguments&&... arguments) {
    const Layer& layer = self;
    const detail::StageScope stage = layer.stage_scope();
    if (layer.spans_stages()) {
      layer.check_first(arguments...);
      return carry_out(self, std::forward<Arguments>(arguments)...);
    }
    std::tuple<Passed<Arguments>...> passed(std::forward<Arguments>(arguments)...);
    return std::apply(
        [&self, &layer](auto&... each) -> decltype(auto) {
          std::vector<Vector*> vectors;
          (each_vector(each, [&vectors](Vector& x) { vectors.push_back(&x); }), ...);
          layer.enter(vectors, first_vector(each...));
          layer.check_first(each...);
          const auto forward = [&]() -> decltype(auto) {
            return carry_out(self, static_cast<Arguments&&>(each)...);
          };
          using Result = decltype(forward());
          if constexpr (detail::range_follows<Result, Arguments...>) {
            if (detail::KnownRanges* known = layer.known_ranges())
              return known->template of<Result>(forward, each...);
          }
          if constexpr ((detail::is_writable<Arguments> || ...)) {
            const detail::Unwritten unwritten(
                [&each...](detail::Identities& all) { (detail::add_identities<Arguments>(each, all), ...); });
            if constexpr (std::is_void_v<Result>) {
              forward();
              if (!unwritten.holds()) detail::throw_written(layer.path());
            } else {
              Result result = forward();
              if (!unwritten.holds()) detail::throw_written(layer.path());
              return static_cast<Result>(std::forward<Result>(result));
            }
          } else {
            return forward();
          }
        },
        passed);
  }
  template <typename Argument>
  using Passed = std::conditional_t<has_vectors<std::remove_cvref_t<Argument>>, std::remove_cvref_t<Argument>,
                                    Argument&&>;

  template <typename First, typename... Rest>
  static const Vector* first_vector(const First& first, const Rest&...) {
    const Vector* found = nullptr;
    each_vector(const_cast<First&>(first), [&found](Vector& x) { found = found == nullptr ? &x : found; });
    return found;
  }
  static const Vector* first_vector() { return nullptr; }
  template <typename First, typename... Rest>
  void check_first(const First& first, const Rest&...) const {
    if constexpr (std::is_same_v<First, Vector>) check_domain(first);
  }
  void check_first() const {}
};

/// `count` layers of one class, called one after another: x → each_n(…each_1(x)). They are named "0", "1" …;
/// each is constructed from its OwnerAndName and the same arguments. x is a vector, or a struct that says its
/// vectors by `each_vector`, such as the stream and the sum of auxiliary losses so far.
template <typename Each>
class Repeated : public Layer<Repeated<Each>> {
 public:
  template <typename... Arguments>
  Repeated(Module& owner, const std::string& name, std::int64_t count, const Arguments&... arguments)
      : Layer<Repeated<Each>>({owner, name}) {
    for (std::int64_t i = 0; i < count; ++i)
      each_.emplace_back(OwnerAndName(*this, std::to_string(i)), arguments...);
  }

  /// Further arguments go to each.
  template <typename X, typename... Arguments>
  X forward(X x, Arguments&&... arguments) {
    for (Each& each : each_) x = each(x, arguments...);
    return x;
  }

  bool is_repeated() const override { return true; }
  std::size_t size() const { return each_.size(); }
  Each& operator[](std::size_t i) { return each_[i]; }
  const Each& operator[](std::size_t i) const { return each_[i]; }
  auto begin() { return each_.begin(); }
  auto end() { return each_.end(); }
  auto begin() const { return each_.begin(); }
  auto end() const { return each_.end(); }

  std::string describe() const override {
    return concat(each_.size(), each_.empty() ? "" : " of " + each_.front().describe());
  }

 private:
  std::deque<Each> each_;
};

}  // namespace riesz
