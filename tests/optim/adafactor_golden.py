# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what torch.optim.Adafactor makes of weights cos(k + 1) by gradients sin(0.7 k + 1.3 t): adafactor_golden.h."""

import torch

CASES = [((3, 4), {}), ((5,), {}), ((2, 3, 2), {}), ((4, 6), dict(lr=0.3, d=1.2, weight_decay=0.2)),
         ((4, 1), dict(beta2_decay=-0.5, eps=(1e-2, 2.0)))]
STEPS = 20

print("""// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace riesz::testing {

// Made by adafactor_golden.py with PyTorch 2.11.
inline const std::vector<std::vector<double>> kAdafactorGolden{""")
for shape, options in CASES:
    n = torch.Size(shape).numel()
    k = torch.arange(n, dtype=torch.float64)
    w = torch.nn.Parameter(torch.cos(k + 1).reshape(shape))
    optimizer = torch.optim.Adafactor([w], **options)
    for t in range(STEPS):
        w.grad = torch.sin(0.7 * k + 1.3 * t).reshape(shape)
        optimizer.step()
    print("    {" + ", ".join(repr(x) for x in w.detach().flatten().tolist()) + "},")
print("""};

}  // namespace riesz::testing""")
