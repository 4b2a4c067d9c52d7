// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/partition.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// @throws Error unless a host that has `available` bytes left has room for `ranks` ranks of this training
/// (`estimate_memory`). It has the estimate as a table, and the settings that would fit, each changed alone.
/// `mesh`: the grid of the configuration's job_axes; `data_bytes`: a rank's, as `bytes_of_data`. Local.
void check_memory(const Config& config, const Partition& mesh, double data_bytes, int ranks,
                  double available);

/// The same of this host, with what it has left now, and of the `ranks` that run on it. Where the host does
/// not say what it has left nothing is checked. Local.
void check_memory(const Config& config, const Partition& mesh, int ranks);

/// A rank's bytes of the data. They are the text that is trained on, where that is one file. For images in
/// the model's form they are the rank's share of the one copy that `holders` ranks of a host have. Else 0.
/// Local.
double bytes_of_data(const Config& config, int holders);

}  // namespace riesz::app
