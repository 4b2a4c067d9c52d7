#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""predict_fields.py FOLDER MPIRUN RIESZ: trains on .npy files, and predicts larger images with the trained models.

A U-Net learns masks; what it predicts in tiles on two ranks has the bytes of what it predicts of whole images on one. A Fourier
neural operator learns fields on two ranks that share each of them, and finds larger ones.
"""

import json
import math
import os
import shutil
import struct
import subprocess
import sys

CONFIG = """
[model]
kind = "{kind}"
image = 16
width = 4

[data]
task = "{task}"
inputs = "inputs.npy"
targets = "{task}.npy"
held_out = 0.25

[schedule]
warm_up = 1

[train]
steps = 4
batch = 4
eval_every = 4
"""


def write_npy(path, shape, letter, numbers):
    """The format of numpy.save, by hand; `letter` as struct has it."""
    kind = {"f": "<f4", "B": "|u1"}[letter]
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack(f"<{len(numbers)}{letter}", *numbers))


def waves(rows, size):
    return [100 + 7 * math.sin(0.3 * i * (n + 1) + 0.2 * j) for n in range(rows) for i in range(size) for j in range(size)]


def said_by(*words, fails=False):
    done = subprocess.run(words, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    assert (done.returncode != 0) == fails, (words, done.stdout)
    return done.stdout


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def main(folder, mpirun, riesz):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for kind, task in ("unet", "masks"), ("fno", "fields"):
        with open(f"{folder}/{kind}.toml", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(kind=kind, task=task))
    seen = waves(8, 16)
    write_npy(f"{folder}/inputs.npy", [8, 16, 16], "f", seen)
    write_npy(f"{folder}/masks.npy", [8, 16, 16], "B", [int(number > 100) for number in seen])
    write_npy(f"{folder}/fields.npy", [8, 16, 16], "f", [3 * number for number in seen])
    large = f"{folder}/large.npy"
    write_npy(large, [1, 1, 64, 64], "f", waves(1, 64))

    unet, fno = f"{folder}/unet", f"{folder}/fno"
    said_by(mpirun, "-n", "2", riesz, "train", f"{unet}.toml", "model.levels=2", "layout=space2x1", f"output.folder={unet}")
    with open(f"{unet}/checkpoint-4/normalisation.json", encoding="utf-8") as file:
        assert abs(json.load(file)["inputs"]["mean"][0] - 100) < 1
    resumed = "train", f"{unet}.toml", "model.levels=2", f"output.folder={unet}", "--resume", "train.steps=5", "data.normalise=none"
    assert "means of 1 channels were subtracted, and now of 0" in said_by(riesz, *resumed, fails=True)
    said_by(riesz, "predict", unet, large, f"{folder}/whole.npy")
    said = said_by(mpirun, "-n", "2", riesz, "predict", unet, large, f"{folder}/tiles.npy", "--tile", "12", "layout.dp=2")
    assert "36 tiles with windows of 28 and halos of 8, 2 at once" in said, said
    assert bytes_of(f"{folder}/tiles.npy") == bytes_of(f"{folder}/whole.npy")
    print("the same labels in tiles")

    said_by(mpirun, "-n", "2", riesz, "train", f"{fno}.toml", "model.layers=1", "model.modes=[3,3]", "layout=space1x2", f"output.folder={fno}")
    said_by(riesz, "explain", f"{fno}.toml", "model.layers=1", "model.modes=[3,3]", "layout=space1x2", "--rank", "1")
    said_by(mpirun, "-n", "2", riesz, "predict", fno, large, f"{folder}/field.npy", "layout=space2x1")
    assert len(bytes_of(f"{folder}/field.npy")) == 128 + 4 * 64 * 64
    said = said_by(riesz, "predict", fno, large, f"{folder}/none.npy", "--tile", "16", fails=True)
    assert "transforms the whole field" in said and not os.path.exists(f"{folder}/none.npy"), said
    print("a field of another size")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
