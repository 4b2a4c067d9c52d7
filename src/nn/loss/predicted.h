// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// What a model predicts of each row: a label or the next tokens, a label of each pixel, or the numbers of a
/// field.
enum class Predicted { labels, pixels, fields };

}  // namespace riesz
