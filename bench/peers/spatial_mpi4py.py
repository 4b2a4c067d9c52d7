#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""A convolution with its height sharded over ranks, or its halo exchange alone, in torch and mpi4py.

It follows the algorithm that Hewett and Grady publish (2006.03108): the weight lives on rank 0 and is broadcast; x is
padded by zeros where its halo goes; neighbours exchange rows through buffers that are made once; torch's layer then
needs no padding; backward does the adjoint of each step in reverse order. It is not their library, DistDL.

Prints "calls/s N" for bench/paired.py; a call is forward and backward, of the slowest rank.

    mpirun -n 2 --bind-to core "$(bench/peers/setup.sh mpi4py)" bench/peers/spatial_mpi4py.py conv [SIZE] [CHANNELS]
    mpirun -n 2 --bind-to core "$(bench/peers/setup.sh mpi4py)" bench/peers/spatial_mpi4py.py halo [KIB]
"""
import statistics
import sys
import time

import numpy
import torch
from mpi4py import MPI

ROWS = 2  # the dim that is sharded


class Halo:
    """Rows of width 1 to and from the ranks above and below, for pieces of one shape."""

    def __init__(self, team, shape):
        self.team = team
        rows = shape[ROWS]  # with the halo
        above, below = team.rank - 1, team.rank + 1
        ends = [(above, 1, 0)] if above >= 0 else []
        if below < team.size:
            ends.append((below, rows - 2, rows - 1))
        row = (*shape[:ROWS], 1, *shape[ROWS + 1:])
        self.ends = [(peer, slice(own, own + 1), slice(ghost, ghost + 1), numpy.empty(row, numpy.float32),
                      numpy.empty(row, numpy.float32)) for peer, own, ghost in ends]

    def exchange(self, x, adjoint):
        """Own rows go to the neighbours' halos; or, as the adjoint, halos are added to the rows that they copy."""
        requests = [self.team.Irecv(received, peer) for peer, _, _, _, received in self.ends]
        for peer, own, ghost, sent, _ in self.ends:
            numpy.copyto(sent, x[:, :, ghost if adjoint else own])
            if adjoint:
                x[:, :, ghost] = 0
            requests.append(self.team.Isend(sent, peer))
        for _ in requests:
            done = MPI.Request.Waitany(requests)
            if done >= len(self.ends):
                continue
            _, own, ghost, _, received = self.ends[done]
            if adjoint:
                x[:, :, own] += received
            else:
                x[:, :, ghost] = received


class HaloExchange(torch.autograd.Function):
    """Writes the halos of x, in place."""

    @staticmethod
    def forward(ctx, x, halo):
        ctx.halo = halo
        ctx.mark_dirty(x)
        halo.exchange(x.detach().numpy(), False)
        return x

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        ctx.halo.exchange(gradient.numpy(), True)
        return gradient, None


class Broadcast(torch.autograd.Function):
    """The weight of rank 0 on all ranks; backward sums its gradient there."""

    @staticmethod
    def forward(ctx, w, team):
        ctx.team = team
        copy = w.detach().clone()
        team.Bcast(copy.numpy())
        return copy

    @staticmethod
    def backward(ctx, gradient):
        total = torch.empty_like(gradient)
        ctx.team.Reduce(gradient.contiguous().numpy(), total.numpy() if ctx.team.rank == 0 else None)
        return total, None


def rows_of(team, size):
    return size // team.size + (team.rank < size % team.size)


def padded_shape(team, shape, sides):
    """With a row for each neighbour, and with zeros at the sides of the image."""
    height = shape[ROWS] + (2 if sides else (team.rank > 0) + (team.rank < team.size - 1))
    return (*shape[:ROWS], height, shape[ROWS + 1] + (2 if sides else 0))


def convolution(team, size, channels):
    shape = (4, channels, rows_of(team, size), size)
    x = torch.randn(shape, requires_grad=True)
    w = torch.randn((channels, channels, 3, 3), requires_grad=True)
    ybar = torch.randn(shape)
    halo = Halo(team, padded_shape(team, shape, True))

    def call():
        x.grad = w.grad = None
        padded = torch.nn.functional.pad(x, (1, 1, 1, 1))
        torch.nn.functional.conv2d(HaloExchange.apply(padded, halo), Broadcast.apply(w, team)).backward(ybar)

    return call


def halo_alone(team, kib):
    shape = (1, 1, 128, kib * 2)  # of 4-byte numbers
    x = torch.randn(shape, requires_grad=True)
    above, below = int(team.rank > 0), int(team.rank < team.size - 1)
    padded = padded_shape(team, shape, False)
    halo = Halo(team, padded)
    ybar = torch.randn(padded)

    def call():
        x.grad = None
        HaloExchange.apply(torch.nn.functional.pad(x, (0, 0, above, below)), halo).backward(ybar)

    return call


def main():
    torch.set_num_threads(1)
    team = MPI.COMM_WORLD
    numbers = [int(word) for word in sys.argv[2:]]
    if sys.argv[1] == "conv":
        call, calls = convolution(team, *(numbers + [256, 64][len(numbers):])), 1
    else:
        call, calls = halo_alone(team, *(numbers or [64])), 500
    times = []
    for number in range(10):
        team.Barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        seconds = team.allreduce((time.perf_counter() - begin) / calls, MPI.MAX)
        if number > 0:
            times.append(seconds)
    if team.rank == 0:
        print(f"calls/s {1 / statistics.median(times):.4f}")


if __name__ == "__main__":
    main()
