# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""DTensor plans of gpt_model.py for tensor and sequence parallelism, and the training step of bench/gpt_step.cpp."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                               loss_parallel, parallelize_module)

import gpt_model


def plan(layers, sequence):
    """The documented plan of DTensor for such a model; with `sequence`, norms and residuals on shards of it."""
    stream = Shard(1) if sequence else Replicate()
    whole = {"wte": RowwiseParallel(input_layouts=Replicate(), output_layouts=stream),
             "lm_head": ColwiseParallel(input_layouts=stream, output_layouts=Shard(-1), use_local_output=False)}
    for layer in range(layers):
        block = f"h.{layer}."
        whole |= {block + "attn.c_attn": ColwiseParallel(), block + "mlp.c_fc": ColwiseParallel(),
                  block + "attn.c_proj": RowwiseParallel(output_layouts=stream),
                  block + "mlp.c_proj": RowwiseParallel(output_layouts=stream)}
        if sequence:
            gathered = {"input_layouts": Shard(1), "desired_input_layouts": Replicate()}
            whole |= {block + "ln_1": SequenceParallel(), block + "ln_2": SequenceParallel(),
                      block + "attn": PrepareModuleInput(**gathered), block + "mlp": PrepareModuleInput(**gathered)}
    if sequence:
        # This rank's positions; the table is whole on every rank.
        whole |= {"ln_f": SequenceParallel(), "wpe": SequenceParallel(sequence_dim=0, use_local_output=True)}
    return whole


class Trainer:
    def __init__(self, options, rank, ranks):
        torch.set_num_threads(1)
        torch.manual_seed(1)
        self.parallel = options.layout != "plain"
        model = gpt_model.gpt(options)
        self.positions = torch.arange(options.context)
        self.ids, self.targets, state = gpt_model.beginning(options)
        if state:
            model.load_state_dict(state)
        if self.parallel:
            dist.init_process_group("gloo", rank=rank, world_size=ranks)
            mesh = init_device_mesh("cpu", (ranks,))
            model = parallelize_module(model, mesh, plan(options.layers, options.layout == "sp"))
            if options.layout == "sp":
                self.positions = self.positions.chunk(ranks)[rank]
        self.model = model
        self.optimizer = gpt_model.adamw(model)

    def step(self):
        with loss_parallel() if self.parallel else contextlib.nullcontext():
            logits = self.model(self.ids, self.positions)
            loss = F.cross_entropy(logits.flatten(0, 1), self.targets.flatten())
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return (loss.full_tensor() if isinstance(loss, DTensor) else loss).item()

    def largest(self, number):
        """Of all ranks."""
        of_all = torch.tensor(number)
        if self.parallel:
            dist.all_reduce(of_all, dist.ReduceOp.MAX)
        return of_all.item()

    def finish(self):
        """Returns when all ranks have come here."""
        if self.parallel:
            dist.barrier()
