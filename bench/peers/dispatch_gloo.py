#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sends rows to their experts and back over two ranks by torch's all_to_all_single with gloo, as bench/experts.cpp does:
token t chooses the experts t and t + 4 of 8. The routing is made beforehand, and its counts are known: they are not in
the time. Prints "dispatches/s N" for bench/paired.py.

    mpirun -n 2 "$(bench/peers/setup.sh)" bench/peers/dispatch_gloo.py ROWS WIDTH
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

EXPERTS, CHOICES = 8, 2


def routing(tokens):
    """The tokens of the rows, sorted by expert."""
    token = torch.arange(tokens).repeat_interleave(CHOICES)
    choice = torch.arange(CHOICES).repeat(tokens)
    return token[torch.argsort((token + choice * EXPERTS // CHOICES) % EXPERTS, stable=True)]


def main():
    rows, width = int(sys.argv[1]), int(sys.argv[2])
    rank, ranks = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("MASTER_PORT", "29572"))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    x = torch.rand(rows // CHOICES, width)
    tokens = routing(rows // CHOICES)
    own, block = EXPERTS // ranks, rows // EXPERTS

    def dispatch_and_combine():
        there = torch.empty(rows, width)
        dist.all_to_all_single(there, x.index_select(0, tokens))
        by_expert = there.view(ranks, own, block, width).transpose(0, 1).contiguous()  # then by rank
        again = by_expert.view(own, ranks, block, width).transpose(0, 1).contiguous().view(rows, width)
        back = torch.empty(rows, width)
        dist.all_to_all_single(back, again)
        return torch.zeros_like(x).index_add_(0, tokens, back)

    assert torch.allclose(dispatch_and_combine(), CHOICES * x)
    times = []
    for _ in range(9):
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(20):
            dispatch_and_combine()
        slower = torch.tensor([(time.perf_counter() - begin) / 20], dtype=torch.float64)
        dist.all_reduce(slower, op=dist.ReduceOp.MAX)
        times.append(slower.item())
    if rank == 0:
        print(f"dispatches/s {1 / statistics.median(times):.3f}")
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
