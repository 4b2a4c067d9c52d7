#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sums over two ranks by torch.distributed with gloo; prints "sums/s N" for bench/paired.py.

    mpirun -n 2 "$(bench/peers/setup.sh)" bench/peers/all_reduce_gloo.py all_reduce|reduce_scatter BYTES
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist


def main():
    what, size = sys.argv[1], int(sys.argv[2])
    rank, ranks = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("MASTER_PORT", "29571"))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    tensor = torch.ones(size // 4)
    piece = torch.ones(size // 4 // ranks)
    calls = max(3, min(40_000_000 // (size + 20_000), 2000))
    times = []
    for _ in range(9):
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            if what == "reduce_scatter":
                dist.reduce_scatter_tensor(piece, tensor)
            else:
                dist.all_reduce(tensor)
        slower = torch.tensor([(time.perf_counter() - begin) / calls], dtype=torch.float64)
        dist.all_reduce(slower, op=dist.ReduceOp.MAX)
        times.append(slower.item())
        tensor.fill_(1)
    if rank == 0:
        print(f"sums/s {1 / statistics.median(times):.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
