#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The peer of bench/gpt_step --dp N: the same GPT and training step by torch's DistributedDataParallel on gloo.

    $(bench/peers/setup.sh) bench/peers/gpt_ddp.py [--ranks 2] [option ...]

The program starts its ranks itself, each bound to a core, with one thread. Prints "tokens/s N" of the median step and
"rss MiB N", the most memory that a rank had, less that of one which makes a step of a tiny model. --load and --losses as of
gpt_dtensor.py.
"""
import ranks
from gpt_options import gpt_parser


def parallel(options, state):
    model = gpt_model.gpt(options)
    if state:
        model.load_state_dict(state)
    return DistributedDataParallel(model, gradient_as_bucket_view=True, bucket_cap_mb=options.bucket_cap_mb)


if __name__ == "__main__":
    parser = gpt_parser(__doc__)
    parser.add_argument("--bucket-cap-mb", type=float, default=25, help="of DistributedDataParallel")
    arguments = parser.parse_args()
    if not ranks.is_rank():
        raise SystemExit(ranks.wait(ranks.start(arguments.ranks)))
    from torch.nn.parallel import DistributedDataParallel

    import data_parallel
    import gpt_model

    data_parallel.run(arguments, parallel)
