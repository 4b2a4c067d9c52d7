#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The peer of bench/gpt_step: the same GPT and training step in torch's Python, made parallel by DTensor on gloo.

    $(bench/peers/setup.sh) bench/peers/gpt_dtensor.py --layout plain | tp | sp [option ...]

plain: one process. tp: heads, hidden width and vocabulary over the ranks (embedding, head and loss too); sp: besides,
the sequence between them (sequence parallel). The program starts its ranks itself, each bound to a core, with one
thread. Prints "tokens/s N" of the median step. --load FILE begins with the weights and tokens that
`gpt_step --plain --save FILE` began with, so that the losses of both can be compared (--losses).
"""
import argparse
import os
import socket
import statistics
import subprocess
import sys
import time

LOCAL = "127.0.0.1"


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layout", choices=["plain", "tp", "sp"], default="plain")
    parser.add_argument("--ranks", type=int, default=2, help="of tp and sp")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--vocabulary", type=int, default=256)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20, help="steps that count, after three that do not")
    parser.add_argument("--losses", action="store_true", help="print the loss of every step")
    parser.add_argument("--load", default="", help="weights and tokens to begin with")
    return parser.parse_args()


def start_ranks(ranks):
    """This program again, once for each rank; returns the first status that is not 0."""
    with socket.socket() as free:
        free.bind((LOCAL, 0))
        port = free.getsockname()[1]
    cores = sorted(os.sched_getaffinity(0))
    common = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": LOCAL, "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    running = []
    for rank in range(ranks):
        core = cores[rank % len(cores)]
        running.append(subprocess.Popen([sys.executable, *sys.argv], env=os.environ | common | {"RANK": str(rank)},
                                        preexec_fn=lambda core=core: os.sched_setaffinity(0, {core})))
    status = 0
    while running and status == 0:  # one that fails leaves the others waiting
        time.sleep(0.05)
        status = next((p.returncode for p in running if p.poll()), 0)
        running = [p for p in running if p.poll() is None]
    for process in running:
        process.kill()
    return status


def main():
    if "RANK" not in os.environ:
        arguments = options()
        raise SystemExit(start_ranks(1 if arguments.layout == "plain" else arguments.ranks))
    from gpt_dtensor_model import Trainer

    arguments = options()
    rank = int(os.environ["RANK"])
    trainer = Trainer(arguments, rank, int(os.environ["WORLD_SIZE"]))
    seconds = []
    for step in range(arguments.steps + 3):
        begin = time.perf_counter()
        loss = trainer.step()
        if step >= 3:
            seconds.append(time.perf_counter() - begin)
        if arguments.losses and rank == 0:
            print(f"loss {loss:.7f}")
    if rank == 0:
        print(f"tokens/s {arguments.batch * arguments.context / statistics.median(seconds):.1f}")
    trainer.finish()
    sys.stdout.flush()
    os._exit(0)  # gloo's threads at times do not survive the interpreter's end


if __name__ == "__main__":
    main()
