#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""transformers' generate, one text at a time with a cache: one process on one core, one thread, fp32, greedy.

    python=$(bench/peers/setup.sh) && $python -m pip install transformers==5.23.0
    $python bench/peers/generate.py FOLDER [--tokens 150] [--prompt 32] [--turns 3]

FOLDER is a model's, such as scripts/smollm2.sh makes. Prints "tokens/s N" of the median turn, without what the prompt
takes; the peer of `bench/generate FOLDER` on one rank.
"""
import argparse
import os
import statistics
import time


def seconds(model, ids, tokens):
    begin = time.perf_counter()
    model.generate(ids, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--tokens", type=int, default=150, help="written in a turn, and not of the prompt's pass")
    parser.add_argument("--prompt", type=int, default=32, help="tokens of the prompt")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import torch
    import transformers

    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(arguments.folder, dtype=torch.float32).eval()
    ids = torch.arange(1, arguments.prompt + 1)[None]
    seconds(model, ids, 8)
    turns = []
    for _ in range(arguments.turns):
        first = seconds(model, ids, 1)
        turns.append(arguments.tokens / (seconds(model, ids, arguments.tokens + 1) - first))
    print(f"tokens/s {statistics.median(turns):.2f}")


if __name__ == "__main__":
    main()
