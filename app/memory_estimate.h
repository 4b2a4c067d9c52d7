// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/partition/partition.h"
#include "riesz/train/config.h"

namespace riesz::app {

/// What a rank of a training takes, in bytes. Floating-point: whatever the sizes, nothing overflows.
struct MemoryEstimate {
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;    ///< with the fp32 masters of half parameters
  double gathered = 0;     ///< values that ZeRO's stage 3 gathers
  double sums = 0;         ///< buffers in which gradients are summed, in ZeRO's stages 2 and 3
  double activations = 0;  ///< of a micro-batch, kept for backward; or of a measurement, if that takes more
  double under_way = 0;    ///< of the other micro-batches that a pipeline has under way
  double logits = 0;       ///< with the loss's and, of a micro-batch, their gradient
  double checkpoint = 0;   ///< the copy that is written while training goes on
  double data = 0;         ///< the task's, and the ids of a batch, which every rank has whole

  double passing() const { return gathered + sums; }
  double all() const;
};

/// Of the first rank, whose shares are as large as any's but for what a zigzag leaves over, of the pipeline's
/// worker that takes most, as if its stages were by count: a function of the
/// configuration and of where the layout puts each vector on `mesh`, the grid of its job_axes. What a step
/// takes for a moment, such as gathered operands, is left out, so it is rather too little. Nothing is
/// allocated. `text_bytes`: the size of the text, where it trains on one.
MemoryEstimate estimate_memory(const Config& config, const Partition& mesh, double text_bytes = 0);

/// A line for each category and their sum.
std::string to_string(const MemoryEstimate& estimate);

/// Such as "1.50 GiB".
std::string bytes_text(double bytes);

/// Of the text that it trains on, where that is a file; else 0.
double bytes_of_text(const Config& config);

/// @throws Error, with the table and the settings that would fit, each changed alone, unless a host that has
/// `available` bytes left has room for `ranks` ranks. Local.
void check_memory(const Config& config, const Partition& mesh, double text_bytes, int ranks,
                  double available);

/// The same of this host, as it is now, and of the `ranks` that run on it; of the text that the configuration
/// names, if it is a file. Local.
void check_memory(const Config& config, const Partition& mesh, int ranks);

}  // namespace riesz::app
