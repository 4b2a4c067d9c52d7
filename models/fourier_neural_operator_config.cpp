// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/fourier_neural_operator_config.h"

#include <ATen/core/Tensor.h>

namespace riesz::models {

Roles FourierNeuralOperatorConfig::roles() const {
  check_sizes("Fourier neural operator", {{"layers", layers},
                                          {"width", width},
                                          {"hidden", hidden},
                                          {"size", size},
                                          {"inputs", inputs},
                                          {"outputs", outputs}});
  RIESZ_CHECK(modes.size() == 2, "Fourier neural operator: modes ", at::IntArrayRef(modes),
              "; there is a number for rows and one for columns");
  for (const std::int64_t m : modes)
    RIESZ_CHECK(m >= 1 && 2 * m <= size, "Fourier neural operator: ", m, " modes of ", size,
                " rows and columns; there is at least one, and at most half of the size");
  return {{'b', {Role::batch}},         {'h', {image_height_role(), size}}, {'w', {image_width_role(), size}},
          {'c', {Role::inner, width}},  {'o', {Role::inner, width}},        {'f', {Role::inner, hidden}},
          {'x', {Role::whole, inputs}}, {'y', {Role::whole, outputs}}};
}

}  // namespace riesz::models
