// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/recompute/saved_tensors.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/call_state.h"
#include "riesz/nn/offload/activation_offload.h"
#include "riesz/nn/offload/saved_elsewhere.h"
#include "riesz/nn/recompute/save_watch.h"

namespace riesz::detail {
namespace {

/// Keeps what is saved, as autograd does by itself: without its graph, which may hold this.
class Seen final : public torch::autograd::SavedVariableHooks {
 public:
  explicit Seen(SaveWatch& by) : by_(by) {}
  void call_pack_hook(const at::Tensor& tensor) override {
    by_.saves(tensor);
    tensor_ = tensor.is_leaf() ? tensor : tensor.detach();
    version_ = tensor._version();
  }
  at::Tensor call_unpack_hook() override {
    RIESZ_CHECK(tensor_._version() == version_, "a tensor of ", at::toString(tensor_.scalar_type()), " ",
                tensor_.sizes(), ", which backward needs, was written to after it was kept");
    return tensor_;
  }

 private:
  SaveWatch& by_;  // when it packs, which is at once
  at::Tensor tensor_;
  std::int64_t version_ = 0;
};

}  // namespace

/// What one node has saved of one tensor.
class Slot final : public torch::autograd::SavedVariableHooks {
 public:
  Slot(std::shared_ptr<SavedTensors> all, SavedTensors::Run run) : all_(std::move(all)), run_(run) {}
  ~Slot() override {
    if (run_ == SavedTensors::Run::first) all_->let_go(number_);
  }

  void call_pack_hook(const at::Tensor& tensor) override { number_ = all_->save(tensor, run_); }
  at::Tensor call_unpack_hook() override { return all_->at(number_); }

 private:
  std::shared_ptr<SavedTensors> all_;
  SavedTensors::Run run_;
  std::size_t number_ = 0;
};

/// Autograd's engine asks for hooks whenever a node saves a tensor. Python's is another such engine.
struct Hooks final : torch::autograd::Engine {
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    const CallState& state = call_state();
    if (state.saving != nullptr && state.saving->to_ != nullptr)
      return std::make_unique<Slot>(state.saving->to_, state.saving->run_);
    if (state.offload != nullptr && state.offload->block() != nullptr)
      return saved_elsewhere(state.offload->block());
    return state.save_watch == nullptr ? nullptr : std::make_unique<Seen>(*state.save_watch);
  }

  static Engine& instance() {
    static Engine& engine = *new Hooks;  // its threads may outlive main
    return engine;
  }
};

namespace {

/// Before main: the engine is to be one and the same from the first backward on.
[[maybe_unused]] const bool installed = [] {
  torch::autograd::set_default_engine_stub(&Hooks::instance);
  return true;
}();

}  // namespace

SavedTensors::Scope::Scope(std::shared_ptr<SavedTensors> to, Run run)
    : to_(std::move(to)), run_(run), outer_(std::exchange(call_state().saving, this)) {}
SavedTensors::Scope::~Scope() { call_state().saving = outer_; }
const SavedTensors::Scope* SavedTensors::Scope::current() { return call_state().saving; }

SaveWatch::SaveWatch() : outer_(std::exchange(call_state().save_watch, this)) {}
SaveWatch::~SaveWatch() { call_state().save_watch = outer_; }

bool SavedTensors::Form::operator==(const Form& other) const {
  return sizes == other.sizes && type == other.type && (leaf != other.leaf || version == other.version);
}

std::string SavedTensors::Form::text() const {
  return concat(at::toString(type), " ", at::IntArrayRef(sizes));
}

SavedTensors::Form SavedTensors::form_of(const at::Tensor& tensor) {
  const bool leaf = tensor.is_leaf() && tensor.requires_grad();
  return {tensor.sizes().vec(), tensor.scalar_type(), leaf ? tensor.unsafeGetTensorImpl() : nullptr,
          leaf ? tensor._version() : 0};
}

/// Without the graph of the second run; a leaf, whose memory may come and go, as it is.
std::size_t SavedTensors::save(const at::Tensor& tensor, Run run) {
  std::vector<Form>& forms = run == Run::first ? first_ : again_;
  forms.push_back(form_of(tensor));
  const std::size_t number = forms.size() - 1;
  if (run == Run::first) {
    gone_.push_back(0);
    return number;
  }
  kept_.push_back({{}, tensor._version()});
  const bool asked_for = number < gone_.size() && gone_[number] == 0;
  if (asked_for) kept_.back().tensor = tensor.is_leaf() ? tensor : tensor.detach();
  return number;
}

at::Tensor SavedTensors::at(std::size_t number) const {
  RIESZ_CHECK(number < kept_.size() && kept_[number].tensor.defined(), "recompute of ", region_,
              ": backward comes to what is inside before the region has run again; a region's gradients are "
              "taken from outside of it, through what it returns");
  const Kept& kept = kept_[number];
  RIESZ_CHECK(kept.tensor._version() == kept.version, "recompute of ", region_, ": a tensor of ",
              first_[number].text(), ", which backward needs, was written to after it was kept");
  return kept.tensor;
}

void SavedTensors::let_go(std::size_t number) {
  gone_[number] = 1;
  if (number < kept_.size()) kept_[number].tensor.reset();
}

std::string SavedTensors::difference() const {
  const std::size_t most = std::max(first_.size(), again_.size());
  const auto text = [](const std::vector<Form>& forms, std::size_t i) {
    return i < forms.size() ? forms[i].text() : std::string("nothing more");
  };
  for (std::size_t i = 0; i < most; ++i) {
    const bool both = i < first_.size() && i < again_.size();
    if (both && first_[i] == again_[i]) continue;
    if (both && first_[i].leaf != nullptr && first_[i].leaf == again_[i].leaf)
      return concat("a leaf of ", first_[i].text(), ", such as a parameter, was written to in between");
    return concat("of what its operations keep for backward, number ", i + 1, " was ", text(first_, i),
                  " the first time and ", text(again_, i), " the second");
  }
  return {};
}

}  // namespace riesz::detail
