// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/app/memory/memory_estimate.h"

namespace riesz::app {

/// `estimate_memory` of a model of images that is made of convolutions, a ResNet, a U-Net or a Fourier neural
/// operator with so many labels: from the model itself, which is made without weights. Its blocks are divided
/// evenly over a pipeline's stages. Local.
MemoryEstimate estimate_convolution_memory(const Config& config, const Partition& mesh, std::int64_t labels,
                                           double data_bytes);

}  // namespace riesz::app
