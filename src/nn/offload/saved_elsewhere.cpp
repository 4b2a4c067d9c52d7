// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/offload/saved_elsewhere.h"

#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <mutex>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/offload/block_call.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

/// A disk moves no less at once.
constexpr std::size_t kLeast = 4096;

bool moves(const at::Tensor& x) {
  const bool leaf = x.is_leaf() && x.requires_grad();  // its memory may come and go
  return !leaf && x.has_storage() && x.storage().nbytes() >= kLeast && !lies_in_lent_memory(x);
}

/// x in other memory; it counts writes with x.
at::Tensor like(const at::Tensor& x, at::Storage memory) {
  const c10::TensorImpl* const impl = x.unsafeGetTensorImpl();
  at::Tensor other(impl->shallow_copy_and_detach(impl->version_counter(), true));
  other.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(memory));
  return other;
}

class SavedElsewhere final : public torch::autograd::SavedVariableHooks {
 public:
  explicit SavedElsewhere(std::shared_ptr<BlockCall> block) : block_(std::move(block)) {}

  void call_pack_hook(const at::Tensor& tensor) override {
    version_ = tensor._version();
    if (moves(tensor)) {
      memory_ = block_->save(tensor.storage());
      tensor_ = like(tensor, at::Storage(at::Storage::use_byte_size_t(), 0,
                                         c10::DataPtr(nullptr, tensor.device()), nullptr, false));
    } else {
      tensor_ = tensor.is_leaf() ? tensor : tensor.detach();
    }
  }

  at::Tensor call_unpack_hook() override {
    RIESZ_CHECK(tensor_._version() == version_, "a tensor of ", at::toString(tensor_.scalar_type()), " ",
                tensor_.sizes(), ", which a block saved for backward, was written to afterwards");
    const std::lock_guard lock(block_->all().mutex);
    block_->reach();
    return memory_ ? like(tensor_, memory_->bring()) : tensor_;
  }

 private:
  std::shared_ptr<BlockCall> block_;
  at::Tensor tensor_;  // without its memory, where that is below
  std::shared_ptr<SavedMemory> memory_;
  std::int64_t version_ = 0;
};

}  // namespace

std::unique_ptr<torch::autograd::SavedVariableHooks> saved_elsewhere(std::shared_ptr<BlockCall> block) {
  return std::make_unique<SavedElsewhere>(std::move(block));
}

}  // namespace riesz::detail
