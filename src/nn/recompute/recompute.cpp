// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/recompute/recompute.h"

#include <ATen/ThreadLocalState.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/trace/range.h"
#include "riesz/nn/context.h"
#include "riesz/nn/recompute/kept_inputs.h"
#include "riesz/nn/recompute/region_bytes.h"
#include "riesz/nn/recompute/saved_tensors.h"
#include "riesz/nn/stages/crossing.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/partition/participation.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/node.h"
#include "riesz/primitives/own_nodes.h"

namespace riesz {
namespace {

using detail::KeptInputs;
using detail::Region;
using detail::SavedTensors;
using Tensors = std::vector<at::Tensor>;
using Vectors = std::vector<Vector>;

/// What a run leaves that another can be compared with.
struct RegionRun {
  ParticipationLog::Labels participation;
  std::vector<Space> spaces;
  std::vector<std::uint64_t> bits;  // of the results, with checks

  void add_results(const Vectors& ys) {
    for (const Vector& y : ys) {
      spaces.push_back(y.space());
      if (!consistency_checks()) continue;
      const at::Tensor bytes = y.local().detach().cpu().contiguous();
      bits.push_back(riesz::digest(bytes.const_data_ptr(), bytes.nbytes()));
    }
  }
};

std::string difference(const ParticipationLog::Labels& first, const ParticipationLog::Labels& second) {
  const auto text = [](const ParticipationLog::Labels& labels, std::size_t i) {
    return i < labels.size() ? labels[i]->text() : "nothing more";
  };
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    const bool both = i < first.size() && i < second.size();
    if (!both || first[i]->digest() != second[i]->digest() || text(first, i) != text(second, i))
      return concat("its operation ", i + 1, " that communicates was\n  ", text(first, i),
                    "\nthe first time and\n  ", text(second, i), "\nthe second");
  }
  return {};
}

std::string difference(const RegionRun& first, const RegionRun& second) {
  std::string text = difference(first.participation, second.participation);
  if (text.empty() && first.spaces.size() != second.spaces.size())
    text = concat("it returned ", first.spaces.size(), " vectors the first time and ", second.spaces.size(),
                  " the second");
  for (std::size_t i = 0; text.empty() && i < first.spaces.size(); ++i)
    if (first.spaces[i] != second.spaces[i])
      text = concat("its result ", i + 1, " lies in\n  ", to_string(first.spaces[i]),
                    "\nthe first time and in\n  ", to_string(second.spaces[i]), "\nthe second");
  for (std::size_t i = 0; text.empty() && i < first.bits.size() && i < second.bits.size(); ++i)
    if (first.bits[i] != second.bits[i])
      text = concat("its result ", i + 1, ", in ", to_string(first.spaces[i]),
                    ", has other bits the second time");
  return text;
}

/// A region between its two runs.
struct RegionCall {
  std::string name;
  Region region;
  KeptInputs inputs;
  std::optional<Context> context;
  at::ThreadLocalState state;  // autocast, for one
  std::shared_ptr<const Origin> origin;
  std::shared_ptr<SavedTensors> saved;
  RegionRun first;
  bool ran_again = false;

  Vectors run(const Vectors& xs, void* result, SavedTensors::Run which, RegionRun& outcome) {
    const detail::InRegion inside(name);
    const ParticipationLog log;
    const SavedTensors::Scope saving(saved, which);
    const detail::OwnNodes own;  // arguments come from no node when it runs again
    Vectors ys = region(xs, result);
    outcome.participation = log.labels();
    outcome.add_results(ys);
    return ys;
  }

  /// The graph that is recorded now goes at once: the first one is what backward goes through.
  void run_again(const Tensors& kept) {
    if (std::exchange(ran_again, true)) return;
    const at::ThreadLocalStateGuard as_then(state);
    const PhaseScope phase(Phase::recompute);
    const Range range(RangeKind::phase, "recompute");
    const LayerScope layer(origin ? origin : std::make_shared<const Origin>());
    std::optional<ContextScope> in_context;
    if (context) in_context.emplace(*context);
    const Vectors xs = inputs.given_back(kept);
    RegionRun second;
    {
      const at::AutoGradMode recorded(true);
      Chain chain;
      run(xs, nullptr, SavedTensors::Run::again, second);
    }
    std::string text = difference(first, second);
    if (text.empty()) text = saved->difference();
    RIESZ_CHECK(text.empty(), "recompute of ", name, " does not repeat: ", text,
                "\na region's values follow from its arguments, its parameters and its context alone");
  }
};

/// Of the results and the token, which it hands on. What comes before it in backward has not begun then.
class RecomputeNode : public detail::Node {
 public:
  RecomputeNode(std::shared_ptr<RegionCall> call, Tensors kept)
      : call_(std::move(call)), kept_(std::move(kept)) {}

  Tensors forward(const Tensors& inputs) override {
    save(std::exchange(kept_, {}));
    Tensors outputs;
    for (const at::Tensor& input : inputs) outputs.push_back(input.detach());
    return outputs;
  }

  Tensors backward(Tensors gradients) override {
    RIESZ_CHECK(!at::GradMode::is_enabled(), "recompute of ", call_->name,
                " has no second derivatives, but they are asked for (create_graph); call the region itself");
    const std::shared_ptr<RegionCall> call = std::exchange(call_, nullptr);
    if (!call->ran_again) call->run_again(saved());
    return gradients;
  }

 private:
  std::shared_ptr<RegionCall> call_;
  Tensors kept_;
};

/// With handles of their own, so that what is read of them outside is not shared inside.
Vectors apart(const Vectors& xs) {
  Vectors own;
  for (const Vector& x : xs) own.emplace_back(x.space(), x.local(), x.is_constant());
  return own;
}

/// While backward has not come to it, and may.
std::function<void()> ahead_of_backward(const std::shared_ptr<RegionCall>& call, const Tensors& kept) {
  std::vector<std::int64_t> versions;
  for (const at::Tensor& each : kept) versions.push_back(each._version());
  return [call = std::weak_ptr(call), kept, versions = std::move(versions)] {
    const std::shared_ptr<RegionCall> region = call.lock();
    if (region == nullptr) return;
    for (std::size_t i = 0; i < kept.size(); ++i)
      RIESZ_CHECK(kept[i]._version() == versions[i], "recompute of ", region->name,
                  ": an argument was written to before it ran again");
    region->run_again(kept);
  };
}

}  // namespace

std::string detail::name_of_region(const RecomputeOptions& options) {
  if (!options.name.empty()) return options.name;
  const auto origin = LayerScope::current();
  return origin && !origin->layer.empty() ? origin->layer : "a region";
}

bool detail::keeps_for_backward() { return at::GradMode::is_enabled(); }

Vector detail::hollow(const Vector& x) {
  return {x.space(), at::empty(x.local().sizes(), x.local().options().device(at::kMeta)), x.is_constant()};
}

Vectors detail::recompute(const RecomputeOptions& options, Region region, const Vectors& xs, void* result) {
  const std::string& name = *InRegion::name();
  RegionScope* scope = RegionScope::current();
  const bool outermost = SavedTensors::Scope::current() == nullptr;
  Chain* chain = Chain::current();
  RIESZ_CHECK(chain != nullptr || Crossing::current() == nullptr, "recompute of ", name,
              " crosses stages: it begins where the model has entered none yet; on a pipeline a region lies "
              "inside one stage, so run its parts again one by one, such as by a RecomputePolicy");
  RIESZ_CHECK(
      chain != nullptr, "recompute of ", name,
      " while gradients are recorded, but outside a chain, in whose backward it runs again: open one "
      "around the computation of a loss (riesz::Chain chain;), or record none (at::NoGradGuard guard;)");
  const Context* context = ContextScope::current();
  const auto call = std::make_shared<RegionCall>(RegionCall{name,
                                                            std::move(region),
                                                            KeptInputs(xs, options.pieces_over),
                                                            context ? std::optional(*context) : std::nullopt,
                                                            at::ThreadLocalState(),
                                                            LayerScope::current(),
                                                            std::make_shared<SavedTensors>(name),
                                                            {}});
  const at::Device device = xs.empty() ? at::Device(at::kCPU) : xs.front().local().device();
  const at::Tensor before = chain->token(device);
  Vectors ys = call->run(apart(xs), result, SavedTensors::Run::first, call->first);
  if (chain->token(device).is_same(before) && !ys.empty() &&
      std::all_of(ys.begin(), ys.end(), [](const Vector& y) { return y.is_constant(); }))
    return ys;  // no backward comes here
  Tensors inputs;
  for (const Vector& y : ys)
    if (y.local().requires_grad()) inputs.push_back(y.local());
  inputs.push_back(chain->token(device));
  Tensors kept = call->inputs.kept(xs);
  count_kept(name, kept);
  if (scope != nullptr && outermost) scope->note(ahead_of_backward(call, kept));
  const Tensors outputs = detail::record(std::make_shared<RecomputeNode>(call, std::move(kept)), inputs);
  chain->advance(outputs.back());
  auto next = outputs.begin();
  for (Vector& y : ys)
    if (y.local().requires_grad()) y = Vector(y.space(), *next++);
  return ys;
}

}  // namespace riesz
