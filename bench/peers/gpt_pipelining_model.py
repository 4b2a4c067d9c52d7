# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Stages of gpt_model.py for torch.distributed.pipelining, and the training step of bench/pipeline_step.cpp."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

import gpt_model


class Stage(nn.Module):
    """Some blocks of a GPT, with the embeddings before the first and the head after the last."""

    def __init__(self, model, blocks, stage):
        super().__init__()
        first = sum(blocks[:stage])
        self.h = nn.ModuleList(model.h[first:first + blocks[stage]])
        self.begins, self.ends = stage == 0, stage == len(blocks) - 1
        if self.begins:
            self.wte, self.wpe = model.wte, model.wpe
        if self.ends:
            self.ln_f, self.lm_head = model.ln_f, model.lm_head

    def forward(self, x):
        if self.begins:
            x = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x)) if self.ends else x


def cross_entropy(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Trainer:
    def __init__(self, options, rank, ranks):
        torch.set_num_threads(1)
        torch.manual_seed(1)
        if sum(options.blocks) != options.layers:
            raise SystemExit(f"stages of {options.blocks} blocks; the model has {options.layers}")
        model = gpt_model.gpt(options)
        self.ids, self.targets, state = gpt_model.beginning(options)
        if state:
            model.load_state_dict(state)
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
        self.first, self.last = rank == 0, rank == ranks - 1
        part = Stage(model, options.blocks, rank)
        schedule = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}[options.schedule]
        self.schedule = schedule(PipelineStage(part, rank, ranks, torch.device("cpu")), options.micro_batches,
                                 loss_fn=cross_entropy)
        self.optimizer = gpt_model.adamw(part)

    def step(self):
        """Returns the loss, on the last rank."""
        losses = []
        given = (self.ids,) if self.first else ()
        expected = {"target": self.targets, "losses": losses} if self.last else {}
        self.schedule.step(*given, return_outputs=False, **expected)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return torch.stack(losses).mean() if self.last else None

    def largest(self, number):
        """Of all ranks."""
        of_all = torch.tensor(number)
        dist.all_reduce(of_all, dist.ReduceOp.MAX)
        return of_all.item()

    def finish(self):
        """Returns when all ranks have come here."""
        dist.barrier()
