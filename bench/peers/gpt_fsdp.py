#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The peer of a sharded gpt_step: the same GPT and training step by torch's fully_shard (FSDP2) on gloo.

    $(bench/peers/setup.sh) bench/peers/gpt_fsdp.py [--ranks 2] [option ...]

Each block is a unit whose weights are let go after its forward (reshard_after_forward); embeddings, the last norm and
the head are another, which keeps them, as they are needed again at once. No rank ever makes the whole model, unless it
is given by --load. What it prints, and its options, are those of gpt_ddp.py.
"""
import ranks
from gpt_options import gpt_parser


def parallel(options, state):
    with torch.device("meta"):
        model = gpt_model.gpt(options)
    for block in model.h:
        fully_shard(block, mesh=init_device_mesh("cpu", (options.ranks,)), reshard_after_forward=True)
    fully_shard(model, mesh=init_device_mesh("cpu", (options.ranks,)))
    model.to_empty(device="cpu")
    for name, parameter in model.named_parameters():
        local = parameter.detach().to_local()
        if state:
            local.copy_(distribute_tensor(state[name], parameter.device_mesh, parameter.placements).to_local())
        else:
            torch.nn.init.normal_(local, std=0.02)
    return model


if __name__ == "__main__":
    arguments = gpt_parser(__doc__).parse_args()
    if not ranks.is_rank():
        raise SystemExit(ranks.wait(ranks.start(arguments.ranks)))
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import distribute_tensor

    import data_parallel
    import gpt_model

    data_parallel.run(arguments, parallel)
