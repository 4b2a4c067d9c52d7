// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace riesz::detail {

/// The tensors that autograd's nodes of a region save for backward. In the first run only their forms are
/// kept. Once the region has run again, each node finds here what it would have saved. A tensor is released
/// when autograd releases it.
class SavedTensors : public std::enable_shared_from_this<SavedTensors> {
 public:
  enum class Run { first, again };

  /// While it lives, what this thread's nodes save goes to `to`, if there is one; scopes nest.
  class Scope {
   public:
    Scope(std::shared_ptr<SavedTensors> to, Run run);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    /// This thread's innermost, or nullptr.
    static const Scope* current();

   private:
    friend struct Hooks;
    std::shared_ptr<SavedTensors> to_;
    Run run_;
    Scope* outer_;
  };

  /// `region`: for errors.
  explicit SavedTensors(std::string region) : region_(std::move(region)) {}

  /// The first difference between what the two runs saved; empty where there is none.
  std::string difference() const;

 private:
  friend struct Hooks;
  friend class Slot;

  /// The form of a saved tensor. For a leaf it has the count of writes, to see that its value is the same.
  struct Form {
    std::vector<std::int64_t> sizes;
    at::ScalarType type;
    const void* leaf = nullptr;
    std::int64_t version = 0;

    bool operator==(const Form& other) const;
    std::string text() const;
  };
  static Form form_of(const at::Tensor& tensor);

  std::size_t save(const at::Tensor& tensor, Run run);
  at::Tensor at(std::size_t number) const;
  void let_go(std::size_t number);

  std::string region_;
  std::vector<Form> first_, again_;
  /// The second run's, as it was then.
  struct Kept {
    at::Tensor tensor;
    std::int64_t version;
  };
  std::vector<Kept> kept_;
  std::vector<char> gone_;  // nobody will ask for these; each by itself, for backward has several threads
};

}  // namespace riesz::detail
