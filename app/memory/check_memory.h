// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/partition.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// @throws Error unless a host with `available` free bytes has room for `ranks` ranks of this training
/// (`estimate_memory`). It has the estimate as a table, and the settings that would fit, each changed alone.
/// `mesh`: the grid of the configuration's job_axes; `data_bytes`: a rank's, as `bytes_of_data`. Local.
void check_memory(const Config& config, const Partition& mesh, double data_bytes, int ranks,
                  double available);

/// The same for this host with its free memory now, and the `ranks` that run on it. Nothing is checked where
/// the host does not say its free memory. Local.
void check_memory(const Config& config, const Partition& mesh, int ranks);

/// A rank's bytes of the data. For a text in one file it is the file's size. For images in the model's form,
/// or for fields, it is the rank's share of the one copy that `holders` ranks of a host have. Else 0. Local.
double bytes_of_data(const Config& config, int holders);

}  // namespace riesz::app
