# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The GPT of models/min_gpt.cpp as a module of torch, its DTensor plans for tensor and sequence parallelism, and the
training step of bench/gpt_step.cpp."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                               loss_parallel, parallelize_module)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.head_width = width // heads
        # Queries, keys and values in one product; its rows by heads, so that a shard of rows is whole heads.
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        qkv = self.c_attn(x)
        B, T = qkv.shape[:2]
        q, k, v = qkv.view(B, T, -1, 3, self.head_width).permute(3, 0, 2, 1, 4)  # (B, nh, T, hs) each
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, -1))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, vocabulary, context):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids, positions):
        x = self.wte(ids) + self.wpe(positions)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def load(model, saved, heads):
    """Hugging Face's names and shapes (in, out) → ours, with the rows of c_attn by heads."""
    state = {}
    for name, value in saved.items():
        name = name.removeprefix("transformer.")
        if ".attn.c_attn." in name:
            value = value.unflatten(-1, (3, heads, -1)).transpose(-3, -2).flatten(-3)
        state[name] = value.t() if ".c_" in name and name.endswith("weight") else value
    model.load_state_dict(state)


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
        sizes = (options.layers, options.heads, options.width, options.vocabulary, options.context)
        model = Gpt(*sizes)
        self.positions = torch.arange(options.context)
        shape = (options.batch, options.context)
        self.ids = torch.randint(options.vocabulary, shape)
        self.targets = torch.randint(options.vocabulary, shape)
        if options.load:
            saved = torch.load(options.load, weights_only=False)  # it knows no typed dictionary
            self.ids, self.targets = saved.pop("ids"), saved.pop("targets")
            load(model, saved, options.heads)
        if self.parallel:
            dist.init_process_group("gloo", rank=rank, world_size=ranks)
            mesh = init_device_mesh("cpu", (ranks,))
            model = parallelize_module(model, mesh, plan(options.layers, options.layout == "sp"))
            if options.layout == "sp":
                self.positions = self.positions.chunk(ranks)[rank]
        self.model = model
        self.optimizer = torch.optim.AdamW(self.groups(), lr=1e-3, fused=True)

    def groups(self):
        """Weights of products decay. DTensors and tensors do not mix in one fused step."""
        groups = {}
        for name, parameter in self.model.named_parameters():
            decays = name.endswith("weight") and (".c_" in name or name.startswith("lm_head"))
            groups.setdefault((decays, isinstance(parameter, DTensor)), []).append(parameter)
        return [{"params": some, "weight_decay": 0.01 if decays else 0.0} for (decays, _), some in groups.items()]

    def step(self):
        with loss_parallel() if self.parallel else contextlib.nullcontext():
            logits = self.model(self.ids, self.positions)
            loss = F.cross_entropy(logits.flatten(0, 1), self.targets.flatten())
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return (loss.full_tensor() if isinstance(loss, DTensor) else loss).item()

    def finish(self):
        """Returns when all ranks have come here."""
        if self.parallel:
            dist.barrier()
