// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/node.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "riesz/comm/channel.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/new_tensor.h"
#include "riesz/comm/trace/range.h"
#include "riesz/primitives/own_nodes.h"

namespace riesz::detail {

using torch::autograd::variable_list;

namespace {

std::atomic<std::uint64_t> last_backward = 0;
thread_local std::int64_t own_nodes = 0;  // of the innermost OwnNodes; 0: of none

/// Of what was recorded in `forward`, which may be nullptr. The phase is for who counts. There is always one,
/// so that what is shared in it does not depend on whether this worker counts.
std::shared_ptr<const Origin> backward_of(const std::shared_ptr<const Origin>& forward) {
  static const auto* const of_no_layer =
      new std::shared_ptr<const Origin>(std::make_shared<const Origin>(Origin{"", Phase::backward}));
  if (!Counters::instance().recording()) return forward ? forward : *of_no_layer;
  return std::make_shared<const Origin>(Origin{forward ? forward->layer : "", Phase::backward});
}

/// Autograd takes what a node returns for a leaf's gradient, and adds to it in place, if nobody else holds
/// that tensor. So a node returns a gradient that came, itself, or memory of its own.
class OwnGradients {
 public:
  explicit OwnGradients(const variable_list& gradients) {
    for (const at::Tensor& each : gradients)
      if (each.defined() && each.numel() > 0)
        places_.push_back({each.unsafeGetTensorImpl(), memory_of(each)});
  }

  at::Tensor own(const at::Tensor& result) const {
    if (!result.defined() || at::GradMode::is_enabled()) return result;
    for (const auto& [tensor, memory] : places_)
      if (result.unsafeGetTensorImpl() != tensor && memory_of(result) == memory) return result.clone();
    return result;
  }

 private:
  static const void* memory_of(const at::Tensor& tensor) {
    return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
  }

  c10::SmallVector<std::pair<const void*, const void*>, 4> places_;
};

}  // namespace

/// What autograd records of every node. It is a node of autograd itself: a `torch::autograd::Function` takes
/// two microseconds more for a call of two outputs.
class Recorded final : public torch::autograd::Node {
 public:
  explicit Recorded(std::shared_ptr<detail::Node> node) : node_(std::move(node)) {}

  static variable_list make(std::shared_ptr<detail::Node> node, const variable_list& inputs) {
    // A graph is freed from a list, not node within node.
    const std::shared_ptr<Recorded> recorded(new Recorded(std::move(node)), torch::autograd::deleteNode);
    const bool needs_gradient = recorded->begin(inputs);
    variable_list outputs;
    {
      const at::AutoGradMode no_gradient(false);
      outputs = recorded->node_->forward(inputs);
    }
    for (at::Tensor& output : outputs) apart_from(inputs, output);
    if (needs_gradient) recorded->give(recorded, outputs);
    recorded->node_->forget_forward();
    return outputs;
  }

  variable_list apply(variable_list&& gradients) override {
    const std::lock_guard lock(mutex_);
    made_ = {};
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (!gradients[i].defined()) gradients[i] = zeros_like(input_metadata(i));
    const LayerScope layer(backward_of(node_->origin_));
    const Range range(RangeKind::layer, name_of_layer(node_->origin_.get()), [] { return "backward"; });
    const ChannelScope channel(node_->channel_);
    node_->recorded_ = this;
    const OwnGradients own_gradients(gradients);
    const variable_list all = backward_of_node(std::move(gradients));
    variable_list results;
    results.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      if (node_->given_[i]) results.push_back(own_gradients.own(all[i]));
    if (given_.giver) given_.giver->was_read();
    went_in_ = last_backward.load(std::memory_order_relaxed);
    return results;
  }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    saved_.clear(), given_ = {}, made_ = {};
    released_ = true;
  }

  std::string name() const override { return "riesz::Node"; }

  enum class Went { not_yet, back, wrong };

  /// How far it is with this backward.
  Went went(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return threw_in_ >= number ? Went::wrong : went_in_ >= number ? Went::back : Went::not_yet;
  }
  std::string layer() const { return node_->origin_ ? node_->origin_->layer : ""; }

  /// In `apply`.
  variable_list saved() const {
    TORCH_CHECK(!released_, torch::autograd::ERR_BACKWARD_TWICE);
    variable_list tensors;
    tensors.reserve(saved_.size());
    for (const torch::autograd::SavedVariable& each : saved_)
      tensors.push_back(each.unpack(const_cast<Recorded*>(this)->shared_from_this()));
    return tensors;
  }

  /// In `apply`.
  at::Tensor given() const {
    TORCH_CHECK(!released_, torch::autograd::ERR_BACKWARD_TWICE);
    const Given& x = given_;
    if (!x.giver) return x.kept.unpack(const_cast<Recorded*>(this)->shared_from_this());
    // Who holds x has it as it was, unless it was written to.
    if (const auto held = x.tensor.lock(); held && held->version_counter().current_version() == x.version)
      return at::Tensor(held).to(x.type);
    return x.giver->again(x.type);
  }

  /// In `apply`. What is kept for a second backward is not let go of.
  variable_list take_saved() {
    variable_list tensors = saved();
    if (!torch::autograd::get_current_graph_task_keep_graph()) saved_.clear(), released_ = true;
    return tensors;
  }

 private:
  variable_list backward_of_node(variable_list&& gradients) {
    try {
      return node_->backward(std::move(gradients));
    } catch (...) {
      threw_in_ = last_backward.load(std::memory_order_relaxed);
      throw;
    }
  }

  /// Is it to be recorded?
  bool begin(const variable_list& inputs) {
    node_->origin_ = LayerScope::current();
    node_->channel_ = current_channel();
    const bool records = at::GradMode::is_enabled();
    of_lent_memory_ = !inputs.empty() && lies_in_lent_memory(inputs[0]);
    bool needs_gradient = false;
    for (const at::Tensor& input : inputs) {
      node_->given_.push_back(input.defined());
      if (!records || !input.defined()) continue;
      RIESZ_CHECK(!has_tangent(input), "a tensor with a tangent of forward-mode differentiation reached ",
                  "a call that has backward alone; take the tangent off: at::_unpack_dual");
      needs_gradient = needs_gradient || input.requires_grad();
      add_next_edge(torch::autograd::impl::gradient_edge(input));
    }
    return needs_gradient;
  }

  static bool has_tangent(const at::Tensor& input) {
    const torch::autograd::AutogradMeta* meta = torch::autograd::impl::get_autograd_meta(input);
    return meta != nullptr && meta->fw_grad_ != nullptr;
  }

  /// An input that is given on becomes an alias of its own.
  static void apart_from(const variable_list& inputs, at::Tensor& output) {
    const at::AutoGradMode no_gradient(false);
    const bool given = output.defined() && std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) {
                         return input.is_same(output);
                       });
    if (given) output = output.view_as(output);
  }

  /// Makes the outputs this node's, and views so that they are not written without autograd's notice, as
  /// `torch::autograd::Function` does.
  void give(const std::shared_ptr<Recorded>& self, const variable_list& outputs) {
    using torch::autograd::CreationMeta;
    std::size_t differentiable = 0;
    for (const at::Tensor& output : outputs) {
      if (!output.defined()) {
        add_input_metadata(undefined_input());
      } else if (!torch::autograd::isDifferentiableType(output.scalar_type())) {
        add_input_metadata(output);
      } else {
        ++differentiable;
        torch::autograd::set_history(output, self);
        view_of(output, CreationMeta::IN_CUSTOM_FUNCTION);
      }
    }
    for (const at::Tensor& output : outputs)
      if (differentiable > 1 && output.defined()) view_of(output, CreationMeta::MULTI_OUTPUT_NODE);
    for (const at::Tensor& tensor : node_->to_save_)
      saved_.emplace_back(tensor, tensor.defined() && tensor.grad_fn() == self);
    if (node_->gives_again() && !of_lent_memory_) version_ = outputs[0]._version();
    if (node_->given_x_.defined()) keep_given();
  }

  /// The node that made x, if it can make x as it is now; else nullptr.
  static std::shared_ptr<Recorded> giver_of(const at::Tensor& x) {
    const auto giver = std::dynamic_pointer_cast<Recorded>(x.grad_fn());
    return giver && giver->scope_ == own_nodes && giver->node_->gives_again() &&
                   giver->version_ == x._version()
               ? giver
               : nullptr;
  }

  void keep_given() {
    const at::Tensor &x = node_->given_x_, &cast = node_->given_cast_;
    given_.giver = giver_of(x);
    if (!given_.giver) {
      given_.kept = torch::autograd::SavedVariable(cast, false);
      return;
    }
    given_.tensor = Weak(x.getIntrusivePtr());
    given_.version = x._version();
    given_.type = cast.scalar_type();
    const std::lock_guard lock(given_.giver->mutex_);
    ++given_.giver->readers_;
  }

  /// The output, anew, for one of its readers. The last of a backward lets go of it.
  at::Tensor again(at::ScalarType type) {
    const std::lock_guard lock(mutex_);
    node_->recorded_ = this;
    if (at::GradMode::is_enabled() || readers_ == 1) return node_->again().to(type);
    const int backward = torch::autograd::get_current_graph_task_id();
    if (made_.backward != backward) made_ = {backward, readers_, {node_->again()}};
    for (const at::Tensor& each : made_.tensors)
      if (each.scalar_type() == type) return each;
    return made_.tensors.emplace_back(made_.tensors[0].to(type));
  }

  void was_read() {
    const std::lock_guard lock(mutex_);
    if (made_.backward == torch::autograd::get_current_graph_task_id() && --made_.to_come == 0) made_ = {};
  }

  /// A token, which most are that nothing came for, has no elements.
  static at::Tensor zeros_like(const torch::autograd::InputMetadata& output) {
    if (output.was_default_constructed()) return {};
    const c10::SymIntArrayRef shape = output.shape_as_dim_vector();
    const bool token = shape.size() == 1 && shape[0].maybe_as_int() == 0;
    return token ? no_elements(output.options()) : output.zeros_like();
  }

  static void view_of(const at::Tensor& output, torch::autograd::CreationMeta creation) {
    auto* meta = torch::autograd::impl::get_view_autograd_meta(output);
    if (meta != nullptr && meta->has_bw_view()) meta->set_creation_meta(creation);
  }

  using Weak = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

  /// A tensor that is saved, or the node that makes it again.
  struct Given {
    torch::autograd::SavedVariable kept;
    std::shared_ptr<Recorded> giver;
    Weak tensor{at::Tensor().getIntrusivePtr()};  // while others hold it
    std::int64_t version = 0;
    at::ScalarType type = at::kFloat;
  };

  /// The output as it was made again in a backward, for readers to come; also in other types.
  struct Made {
    int backward = -1;  // -1: in none
    std::int64_t to_come = 0;
    std::vector<at::Tensor> tensors;
  };

  std::shared_ptr<detail::Node> node_;
  std::vector<torch::autograd::SavedVariable> saved_;
  Given given_;
  bool released_ = false;
  bool of_lent_memory_ = false;     // is the first input's memory another's, who may take it away?
  std::int64_t scope_ = own_nodes;  // of `OwnNodes`, in which it was recorded
  std::int64_t version_ = -1;       // of the output, as it was given; -1: it is not given again
  std::int64_t readers_ = 0;        // that do not keep it
  Made made_;
  std::uint64_t went_in_ = 0, threw_in_ = 0;  // the last backward; 0: none
};

Node::~Node() = default;

at::Tensor Node::again() { return {}; }

void Node::save(const std::vector<at::Tensor>& tensors) { to_save_ = tensors; }
void Node::save_given(const at::Tensor& x, const at::Tensor& cast) { given_x_ = x, given_cast_ = cast; }
void Node::forget_forward() { to_save_.clear(), given_x_.reset(), given_cast_.reset(); }
at::Tensor Node::given() const { return recorded_->given(); }

std::vector<at::Tensor> Node::saved() const { return recorded_->saved(); }
std::vector<at::Tensor> Node::take_saved() const { return recorded_->take_saved(); }

bool Node::needs_gradient(std::size_t input) const {
  const auto before = std::count(given_.begin(), given_.begin() + static_cast<std::ptrdiff_t>(input), true);
  return given_[input] && recorded_->task_should_compute_output(static_cast<std::size_t>(before));
}

int Node::number_of_backward() { return torch::autograd::get_current_graph_task_id(); }

namespace {

struct Beginning : torch::autograd::Node {
  variable_list apply(variable_list&& /*gradients*/) override { return {}; }
};

}  // namespace

at::Tensor beginning(const at::TensorOptions& options) {
  at::Tensor tensor = no_elements(options);
  torch::autograd::set_history(tensor, std::make_shared<Beginning>());
  return tensor;
}

bool of_one_call(const at::Tensor& a, const at::Tensor& b) {
  return a.grad_fn() != nullptr && a.grad_fn() == b.grad_fn();
}

std::uint64_t next_backward() { return ++last_backward; }

std::string layer_of_failed_backward(const std::vector<at::Tensor>& outputs, std::uint64_t number) {
  std::vector<torch::autograd::Node*> way;
  for (const at::Tensor& output : outputs) way.push_back(output.grad_fn().get());
  std::set<torch::autograd::Node*> seen;
  Recorded* last = nullptr;  // that has gone back
  Recorded* next = nullptr;
  while (!way.empty()) {
    torch::autograd::Node* const node = way.back();
    way.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    for (const torch::autograd::Edge& edge : node->next_edges()) way.push_back(edge.function.get());
    auto* const ours = dynamic_cast<Recorded*>(node);
    if (ours == nullptr) continue;
    const Recorded::Went went = ours->went(number);
    if (went == Recorded::Went::wrong) return ours->layer();
    if (went == Recorded::Went::back && (last == nullptr || ours->sequence_nr() < last->sequence_nr()))
      last = ours;
    if (went == Recorded::Went::not_yet && (next == nullptr || ours->sequence_nr() > next->sequence_nr()))
      next = ours;
  }
  if (last == nullptr) return "";
  const std::string behind = last->layer(), before = next != nullptr ? next->layer() : "";
  if (before.empty() || before == behind) return behind;
  return behind.empty() ? before : concat(before, ", or between it and ", behind);
}

OwnNodes::OwnNodes() : outer_(own_nodes) {
  static std::atomic<std::int64_t> last = 0;
  own_nodes = ++last;
}

OwnNodes::~OwnNodes() { own_nodes = outer_; }

bool lies_in_lent_memory(const at::Tensor& x) {
  return x.defined() && x.has_storage() && !x.storage().resizable();
}

std::vector<at::Tensor> record(std::shared_ptr<Node> node, const std::vector<at::Tensor>& inputs) {
  return Recorded::make(std::move(node), inputs);
}

}  // namespace riesz::detail
