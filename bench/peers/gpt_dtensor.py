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
import os

import ranks
from gpt_options import gpt_parser


def options():
    parser = gpt_parser(__doc__)
    parser.add_argument("--layout", choices=["plain", "tp", "sp"], default="plain")
    return parser.parse_args()


def main():
    arguments = options()
    if not ranks.is_rank():
        raise SystemExit(ranks.wait(ranks.start(1 if arguments.layout == "plain" else arguments.ranks)))
    from gpt_dtensor_model import Trainer

    rank = int(os.environ["RANK"])
    trainer = Trainer(arguments, rank, int(os.environ["WORLD_SIZE"]))
    shown = arguments.losses and rank == 0
    seconds = ranks.median_seconds(trainer.step, arguments.steps,
                                   lambda loss: print(f"loss {loss:.7f}") if shown else None)
    seconds = trainer.largest(seconds)
    if rank == 0:
        print(f"tokens/s {arguments.batch * arguments.context / seconds:.1f}")
    trainer.finish()
    ranks.leave()


if __name__ == "__main__":
    main()
