// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "riesz/partition/interval.h"
#include "riesz/train/config/config.h"

namespace riesz {

/// Rows of inputs and their targets. For text: token ids and the token that follows each, both (rows,
/// length), int64. For images: (rows, channels, height, width), and their labels, (rows), int64. A target of
/// −1 does not count.
struct Batch {
  at::Tensor inputs;
  at::Tensor targets;

  std::int64_t rows() const { return inputs.size(0); }
  /// A part of its rows, as views.
  Batch part(const Interval& of) const;
};

/// The progress of a training: its place in the schedule, and in the data.
struct Made {
  std::int64_t steps = 0;
  std::int64_t rows = 0;  ///< of training data that it has taken, over all epochs
};

/// The step with the least held-out loss so far, of those that were measured.
struct Best {
  std::int64_t step = 0;
  double held_out_loss = 0;
};

/// The names of a row of a batch, and of the units that rates and mean losses count: a sequence counts as its
/// tokens, an image as one.
struct DataUnit {
  std::string row = "sequence";
  std::string counted = "token";
  std::int64_t each = 1;  ///< what a row counts as

  /// Such as "8 sequences of 128 tokens", "8 images".
  std::string text(std::int64_t rows) const;
};

/// The trained model as a function: inputs → logits (rows, vocabulary) of the last target of each row, which
/// is the next token or the label. On the CPU, the same on all workers, and collective over them.
using Predict = std::function<at::Tensor(const at::Tensor& inputs)>;

/// A task: the data that a model is trained on. Everything here is a function of the configuration and the
/// data, the same on every worker and at every layout. The layout shards the batches afterwards.
class Task {
 public:
  virtual ~Task() = default;

  /// The number of tokens or labels that a target may be.
  virtual std::int64_t vocabulary() const = 0;
  /// The names of its labels, in the order of their numbers; none for tokens.
  virtual std::vector<std::string> label_names() const { return {}; }
  virtual DataUnit unit() const = 0;
  /// The training rows from number `first` on, counted from 0 over all epochs. A row's number alone decides
  /// what it is, however rows are cut into batches.
  virtual Batch batch(std::int64_t first, std::int64_t rows) const = 0;
  /// The number of held-out rows; and the rows [begin, end) of them.
  virtual std::int64_t held_out() const = 0;
  virtual Batch held_out(std::int64_t begin, std::int64_t end) const = 0;
  /// The data in a line, such as "adder: 9500 sums to train on, 500 held out".
  virtual std::string describe() const = 0;
  /// A number that differs where the data does.
  virtual std::uint64_t digest() const = 0;
  /// Lines for people about what the trained model can do. Collective over the model's workers.
  virtual std::vector<std::string> report(const Predict& model, double held_out_loss) const = 0;
};

/// Tokens of a sequence of text: data.length, or all that the model sees at once.
std::int64_t sequence_length(const Config& config);

/// The task that config.data names; reads its data. Collective over the job.
/// @throws Error where the data is missing, empty, or too little to train on and to hold out.
std::unique_ptr<Task> make_task(const Config& config);

}  // namespace riesz
