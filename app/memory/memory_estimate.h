// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The memory of a rank of a training, in bytes. Floating-point, so that nothing overflows at any size.
struct MemoryEstimate {
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;    ///< with the fp32 masters of half parameters
  double gathered = 0;     ///< values that ZeRO's stage 3 gathers
  double sums = 0;         ///< buffers in which gradients are summed, in ZeRO's stages 2 and 3
  double activations = 0;  ///< of a micro-batch, kept for backward; or of a measurement, if that takes more
  double under_way = 0;    ///< of the other micro-batches that a pipeline has under way
  double logits = 0;       ///< on a device with the loss's and, of a micro-batch, their gradient
  double checkpoint = 0;   ///< the copy that is written while training goes on
  double data = 0;         ///< the task's, and the ids of a batch, which every rank has whole

  /// Not in `all`: what a layer of an MLP has beside for a moment of backward, when most activations may be
  /// gone. Its operands where they are multiplied, gathered or made again, and their gradients.
  double momentary = 0;

  /// Not in `all`: activations are those of a gate that chooses all experts equally often. This is what they
  /// take more on a rank whose experts all tokens choose.
  double at_worst = 0;

  /// Not in `all`: the optimizer's state on a disk or a host, with masters that lie there. A step reads all
  /// of it, and writes it.
  double elsewhere = 0;

  /// Not in `all`: what blocks save for backward, on a disk.
  double activations_on_disk = 0;

  /// The buffers through which values and gradients pass, as `Holdings::passing`.
  double passing() const { return gathered + sums; }
  double all() const;
};

/// Estimates the memory of the rank that takes most. On a pipeline, blocks are divided evenly over the
/// stages. Among a worker's ranks it takes the first, whose shares are the largest unless pieces in zigzag
/// are uneven. It follows from the configuration and from where its layout puts each vector on `mesh`, the
/// grid of its job_axes; nothing is allocated. Short-lived memory of a step is
/// `momentary`, which the sum leaves out, so that is rather too low. `data_bytes`: of the text or the images,
/// if it trains on such. Local.
MemoryEstimate estimate_memory(const Config& config, const Partition& mesh, double data_bytes = 0);

/// The labels, or the channels of fields, that the configuration's model of images gives; of images whose
/// folder is not read, more than they usually have. Local.
std::int64_t labels_of_data(const Config& config);

/// The categories by name, in the order of the report, without their sum.
std::vector<std::pair<std::string, double>> categories(const MemoryEstimate& estimate);
/// A line for each category, then their sum, and what a rank takes on a disk, and `at_worst`, besides.
std::string to_string(const MemoryEstimate& estimate);

/// Such as "1.50 GiB".
std::string bytes_text(double bytes);

}  // namespace riesz::app
