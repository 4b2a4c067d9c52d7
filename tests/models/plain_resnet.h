// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plain_min_gpt.h"
#include "riesz/models/resnet.h"

namespace riesz::plain {

/// The residual network of He et al. (1512.03385) for one process in torch's own operations, independent of
/// Riesz: images of (B, channels, H, W) → logits of (B, labels). In training its norms take the moments of
/// the batch, and write the running ones in `weights`.
at::Tensor resnet(const models::ResnetConfig& config, const Weights& weights, const at::Tensor& images,
                  bool training);

}  // namespace riesz::plain
