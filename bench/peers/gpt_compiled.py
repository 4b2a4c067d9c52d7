#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""One training step of a GPT-2 by torch.compile, on one device, with parameters in bf16: forward, backward, fused AdamW.

Prints "tokens/s N" of the median step. scripts/check_gpu.sh runs it beside bench/device_check gpt of the same sizes.
    gpt_compiled.py --layers 12 --heads 12 --width 768 --vocabulary 50304 --context 1024 --batch 8 [--device cuda]
"""
import statistics
import time

import torch
import torch.nn.functional as F
from gpt_model import gpt
from gpt_options import gpt_parser


def main():
    parser = gpt_parser(__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--eager", action="store_true", help="without torch.compile, to try the program")
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.manual_seed(1)
    model = gpt(options).to(device, torch.bfloat16)
    run = model if options.eager else torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=device.type == "cuda")
    ids = torch.randint(options.vocabulary, (options.batch, options.context), device=device)
    targets = ids.roll(1, 1)
    positions = torch.arange(options.context, device=device)
    seconds = []
    for step in range(options.steps + 3):
        begin = time.perf_counter()
        logits = run(ids, positions)
        F.cross_entropy(logits.view(-1, options.vocabulary).float(), targets.view(-1)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if device.type == "cuda":
            torch.cuda.synchronize()
        if step >= 3:
            seconds.append(time.perf_counter() - begin)
    print(f"tokens/s {options.batch * options.context / statistics.median(seconds):.1f}")


if __name__ == "__main__":
    main()
