// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/comm/label.h"

namespace riesz {

/// The label of a message that says that none comes: an exception has left the operator at its sender.
/// `throw_mismatch` says so. Private to src/comm.
const std::shared_ptr<const Label>& given_up_label();

}  // namespace riesz
