#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The peer of bench/pipeline_step: the same GPT and training step by torch.distributed.pipelining on gloo.

    $(bench/peers/setup.sh) bench/peers/gpt_pipelining.py --schedule gpipe | 1f1b --blocks 3 1 [option ...]

A stage a rank; --blocks says how many blocks each has, the first with the embeddings, the last with the norm and the
head. Outputs are not gathered; losses are. The program starts its ranks itself, each bound to a core, with one thread.
Prints "tokens/s N" of the median step. --load and --losses as of gpt_dtensor.py.
"""
import os

import ranks
from gpt_options import gpt_parser


def options():
    parser = gpt_parser(__doc__)
    parser.add_argument("--schedule", choices=["gpipe", "1f1b"], default="gpipe")
    parser.add_argument("--micro-batches", type=int, default=4)
    parser.add_argument("--blocks", type=int, nargs="+", default=[2, 2], help="of each stage")
    return parser.parse_args()


def main():
    arguments = options()
    if not ranks.is_rank():
        raise SystemExit(ranks.wait(ranks.start(len(arguments.blocks))))
    from gpt_pipelining_model import Trainer

    trainer = Trainer(arguments, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    # The last rank has the loss.
    shown = arguments.losses and trainer.last
    seconds = ranks.median_seconds(trainer.step, arguments.steps,
                                   lambda loss: print(f"loss {loss.item():.7f}", flush=True) if shown else None)
    seconds = trainer.largest(seconds)
    if trainer.last:
        print(f"tokens/s {arguments.batch * arguments.context / seconds:.1f}")
    trainer.finish()
    ranks.leave()


if __name__ == "__main__":
    main()
