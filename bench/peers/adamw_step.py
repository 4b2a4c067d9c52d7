#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""torch's fused AdamW alone: one process on one core, one thread, fp32.

    $(bench/peers/setup.sh) bench/peers/adamw_step.py [--parameters 16777216] [--tensors 1] [--steps 20]

Prints "steps/s N" of the median step.
"""
import argparse
import os

import ranks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parameters", type=int, default=4096 * 4096, help="numbers, in all")
    parser.add_argument("--tensors", type=int, default=1, help="of equal size")
    parser.add_argument("--steps", type=int, default=20, help="steps that count, after three that do not")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import torch

    torch.set_num_threads(1)
    weights = [torch.randn(arguments.parameters // arguments.tensors) for _ in range(arguments.tensors)]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    optimizer = torch.optim.AdamW(weights, lr=1e-3, weight_decay=0.01, fused=True)
    print(f"steps/s {1 / ranks.median_seconds(optimizer.step, arguments.steps):.3f}")


if __name__ == "__main__":
    main()
