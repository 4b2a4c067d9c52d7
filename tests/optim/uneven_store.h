// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "riesz/optim/store.h"

namespace riesz::testing {

/// A store whose workers along axis "dp" share out what each of them holds as one flat vector of all
/// parameters, unevenly: the first of several gets nothing, the second a third, and so on. The parameters are
/// Replicated on dp.
std::shared_ptr<Store> uneven(std::vector<Parameter> parameters);

/// The same with the shares of the flat vector that `sizes` gives, by coordinate on dp.
std::shared_ptr<Store> uneven(std::vector<Parameter> parameters, std::vector<std::int64_t> sizes);

}  // namespace riesz::testing
