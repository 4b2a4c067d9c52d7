// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// A watcher that is told what this thread's nodes save for backward, except what regions keep. The innermost
/// of a thread is told.
class SaveWatch {
 public:
  SaveWatch();
  virtual ~SaveWatch();
  SaveWatch(const SaveWatch&) = delete;
  SaveWatch& operator=(const SaveWatch&) = delete;

  virtual void saves(const at::Tensor& tensor) = 0;

 private:
  SaveWatch* outer_;
};

}  // namespace riesz::detail
