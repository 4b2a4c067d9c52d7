# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The GPT of models/min_gpt.cpp as a module of torch, its data, and which of its weights decay."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DTensor


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


def gpt(options):
    return Gpt(options.layers, options.heads, options.width, options.vocabulary, options.context)


def state_of(saved, heads):
    """Hugging Face's names and shapes (in, out) → ours, with the rows of c_attn by heads."""
    state = {}
    for name, value in saved.items():
        name = name.removeprefix("transformer.")
        if ".attn.c_attn." in name:
            value = value.unflatten(-1, (3, heads, -1)).transpose(-3, -2).flatten(-3)
        state[name] = value.t() if ".c_" in name and name.endswith("weight") else value
    return state


def beginning(options):
    """Token ids, targets, and the weights to begin with, or None for a model's own."""
    if options.load:
        saved = torch.load(options.load, weights_only=False)  # it knows no typed dictionary
        return saved.pop("ids"), saved.pop("targets"), state_of(saved, options.heads)
    shape = (options.batch, options.context)
    return torch.randint(options.vocabulary, shape), torch.randint(options.vocabulary, shape), None


def adamw(model):
    """Weights of products decay. DTensors and tensors do not mix in one fused step."""
    groups = {}
    for name, parameter in model.named_parameters():
        decays = name.endswith("weight") and (".c_" in name or "lm_head" in name)
        groups.setdefault((decays, isinstance(parameter, DTensor)), []).append(parameter)
    return torch.optim.AdamW([{"params": some, "weight_decay": 0.01 if decays else 0.0}
                              for (decays, _), some in groups.items()], lr=1e-3, fused=True)
