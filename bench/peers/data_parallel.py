# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Trains the GPT of gpt_model.py on gloo, each rank on its part of the batch, and prints what gpt_step prints."""
from argparse import Namespace

import torch
import torch.distributed as dist
import torch.nn.functional as F

import gpt_model
import ranks


class Trainer:
    def __init__(self, options, parallel):
        torch.manual_seed(1)
        ids, targets, state = gpt_model.beginning(options)
        rank, workers = dist.get_rank(), dist.get_world_size()
        if options.batch % workers:
            raise SystemExit(f"{workers} ranks do not divide a batch of {options.batch}")
        self.ids, self.targets = ids.chunk(workers)[rank], targets.chunk(workers)[rank]
        self.positions = torch.arange(options.context)
        self.model = parallel(options, state)
        self.optimizer = gpt_model.adamw(self.model)

    def step(self):
        """Returns the loss of this rank's part: their mean is the loss, as their sizes are equal."""
        logits = self.model(self.ids, self.positions)
        loss = F.cross_entropy(logits.flatten(0, 1), self.targets.flatten())
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()


def warm_up(options, parallel):
    """A step of a tiny model: what is loaded and kept from then on is no model's."""
    workers = dist.get_world_size()
    tiny = {"layers": 1, "heads": 2, "width": 16, "vocabulary": 16, "context": 8, "batch": workers, "load": ""}
    Trainer(Namespace(**(vars(options) | tiny)), parallel).step()


def show_mean(loss):
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(f"loss {loss.item() / dist.get_world_size():.7f}")


def largest(number):
    of_all = torch.tensor(number)
    dist.all_reduce(of_all, dist.ReduceOp.MAX)
    return of_all.item()


def run(options, parallel):
    """A rank: `parallel(options, state)` makes the model, from given weights or its own."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    warm_up(options, parallel)
    at_start = ranks.begin_memory()
    trainer = Trainer(options, parallel)
    seconds = ranks.median_seconds(trainer.step, options.steps, show_mean if options.losses else lambda loss: None)
    seconds = largest(seconds)
    memory = largest(ranks.status_mebibytes("VmHWM") - at_start)
    if dist.get_rank() == 0:
        print(f"tokens/s {options.batch * options.context / seconds:.1f}")
        print(f"rss MiB {memory:.1f}")
    dist.barrier()
    ranks.leave()
