// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "riesz/train/config.h"

namespace riesz {

/// Token ids and what should follow each: both (sequences, length), int64; a target of −1 does not count.
struct Batch {
  at::Tensor ids;
  at::Tensor targets;
};

/// The trained model as a function: ids (sequences, length) → logits (sequences, vocabulary) of the token
/// that follows. The same on all workers, and collective over them.
using NextToken = std::function<at::Tensor(const at::Tensor& ids)>;

/// What a model is trained on. Everything here is a function of the configuration and the data, the same on
/// every worker and at every layout: the layout cuts the batches afterwards.
class Task {
 public:
  virtual ~Task() = default;

  virtual std::int64_t vocabulary() const = 0;
  /// Tokens of a sequence.
  virtual std::int64_t length() const = 0;
  /// The batch of a step, counted from 0.
  virtual Batch batch(std::int64_t step, std::int64_t sequences) const = 0;
  /// How many sequences are held out of training, and some of them.
  virtual std::int64_t held_out() const = 0;
  virtual Batch held_out(std::int64_t begin, std::int64_t end) const = 0;
  /// The data in a line, such as "adder: 9500 sums to train on, 500 held out".
  virtual std::string describe() const = 0;
  /// A number that differs where the data does.
  virtual std::uint64_t digest() const = 0;
  /// What the trained model can do, in lines for people. Collective over the model's workers.
  virtual std::vector<std::string> report(const NextToken& model, double held_out_loss) const = 0;
};

/// The task that config.data names; reads its data. Local.
/// @throws Error where the data is missing, empty, or too little to train on and to hold out.
std::unique_ptr<Task> make_task(const Config& config);

}  // namespace riesz
