// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/io/rows.h"
#include "riesz/partition/interval.h"
#include "riesz/train/config/config.h"

namespace riesz {

/// Rows of inputs and their targets. For text: token ids and the token that follows each, both (rows,
/// length), int64. For images: (rows, channels, height, width), and their labels, (rows), int64, or those of
/// their pixels, (rows, height, width). A target of −1 does not count; rows that each worker makes for itself
/// have none. For fields both are numbers, (rows, channels, height, width).
struct Batch {
  Rows inputs;
  Rows targets;

  std::int64_t rows() const { return inputs.count(); }
  /// A part of its rows, as views.
  Batch part(const Interval& of) const;
};

/// The progress of a training: its place in the schedule, and in the data.
struct TrainingProgress {
  std::int64_t steps = 0;
  std::int64_t rows = 0;  ///< of training data that it has taken, over all epochs
};

/// The step with the least held-out loss so far, of those that were measured.
struct Best {
  std::int64_t step = 0;
  double held_out_loss = 0;
};

/// The names of a row of a batch, and of the units that rates and mean losses count: a sequence counts as its
/// tokens, an image as one or as its pixels.
struct DataUnit {
  std::string row = "sequence";
  std::string counted = "token";
  std::int64_t each = 1;  ///< what a row counts as
  std::string loss = "";  ///< what a mean loss is; empty: nats for each that is counted

  /// Such as "8 sequences of 128 tokens", "8 images".
  std::string text(std::int64_t rows) const;
};

/// How well a model predicts rows that are held out.
struct HeldOut {
  double loss = 0;  ///< the mean
  /// Of labels of pixels, in the order of their numbers: the intersection over union of the pixels that have
  /// the label and those that the model gives it. Empty for other targets.
  std::vector<double> overlaps = {};

  /// Their mean.
  std::optional<double> overlap() const;
};

/// The trained model as a function: inputs → logits (rows, vocabulary) of the last target of each row, which
/// is the next token or the label; of pixels all logits, (rows, height, width, labels), and of fields all
/// numbers. On the CPU, the same on all workers, and collective over them.
using Predict = std::function<at::Tensor(const Rows& inputs)>;

/// A task: the data that a model is trained on. Everything here is a function of the configuration and the
/// data, the same on every worker and at every layout. The layout shards the batches afterwards.
class Task {
 public:
  virtual ~Task() = default;

  /// The number of tokens or labels that a target may be; of a field, its channels.
  virtual std::int64_t vocabulary() const = 0;
  /// The names of its labels, in the order of their numbers; none for tokens.
  virtual std::vector<std::string> label_names() const { return {}; }
  /// Texts that lie beside the weights in a checkpoint, by the names of their files.
  virtual std::map<std::string, std::string> files() const { return {}; }
  virtual DataUnit unit() const = 0;
  /// The training rows from number `first` on, counted from 0 over all epochs. A row's number alone decides
  /// what it is, however rows are cut into batches.
  virtual Batch batch(std::int64_t first, std::int64_t rows) const = 0;
  /// The number of held-out rows; and the rows [begin, end) of them.
  virtual std::int64_t held_out() const = 0;
  virtual Batch held_out(std::int64_t begin, std::int64_t end) const = 0;
  /// The data in a line, such as "adder: 9500 sums to train on, 500 held out".
  virtual std::string describe() const = 0;
  /// A number that differs where the data do.
  virtual std::uint64_t digest() const = 0;
  /// Lines for people about what the trained model can do. Collective over the model's workers.
  virtual std::vector<std::string> report(const Predict& model, const HeldOut& held_out) const = 0;
  /// A picture of what the trained model predicts for the first so many held-out rows, beside what is right:
  /// bytes of (rows, columns, 3); undefined where the task has none. Collective over the model's workers.
  virtual at::Tensor picture(const Predict&, std::int64_t /*rows*/) const { return {}; }
};

/// Tokens of a sequence of text: data.length, or all that the model sees at once.
std::int64_t sequence_length(const Config& config);

/// The task that config.data names; reads its data. Collective over the job.
/// @throws Error where the data is missing, empty, or too little to train on and to hold out.
std::unique_ptr<Task> make_task(const Config& config);

}  // namespace riesz
