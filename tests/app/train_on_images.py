#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""train_on_images.py FOLDER MPIRUN RIESZ CONFIG.toml: trains the example, made small, on pictures that are made here.

On one worker, and at layouts of two and four, the losses must be those of one: |a - b| <= 1e-5, in fp32. What a step
sends is what `riesz explain` says. A training that is stopped and resumed has the same losses and the same weights. At
the end the labels of most pictures are found. A training goes on from what was learnt with the held-out loss that it had,
and `riesz classify` finds the labels of pictures by it. Damaged files end a training, or are left out alike on one
worker and on two.
"""

import gzip
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import zlib

from losses import losses_in

SMALL = ["model.layers=2", "model.width=18", "model.heads=3", "model.image=8", "model.patch=4", "data.shift=1",
         "train.batch=12", "train.eval_size=20", "schedule.warm_up=2"]
LAYOUTS = {
    "one worker": (1, []),
    "dp = 2, ZeRO 3": (2, ["layout.dp=2", "layout.zero=3", "train.micro_batches=2"]),
    "sp, tp = 2": (2, ["layout.tp=2", "layout.tensor=sp"]),
    "pp = 2, V": (2, ["layout.pp=2", "pipeline.schedule=zb_v"]),
    "pp = 2, ring": (4, ["layout.pp=2", "layout.sp=2", "layout.sequence=ring", "pipeline.schedule=zb_h1"]),
}
BOUND = 1e-5


def write_idx(path, extents, data):
    head = bytes([0, 0, 8, len(extents)]) + b"".join(extent.to_bytes(4, "big") for extent in extents)
    with gzip.open(path, "wb") as file:
        file.write(head + bytes(data))


def write_png(path, size, pixels):
    def part(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes(pixels[row * size:(row + 1) * size]) for row in range(size))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)) +
                   part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))


def make_pictures(folder):
    """Of 9 x 9, noise with a bright corner; the label is the corner's number."""
    draw = random.Random(1)
    for part, count in ("train", 240), ("t10k", 40):
        labels = [draw.randrange(4) for _ in range(count)]
        pixels = [draw.randrange(60) + 150 * ((row > 4) == label // 2 and (column > 4) == label % 2)
                  for label in labels for row in range(9) for column in range(9)]
        write_idx(f"{folder}/{part}-images-idx3-ubyte.gz", (count, 9, 9), pixels)
        write_idx(f"{folder}/{part}-labels-idx1-ubyte.gz", (count,), labels)


def main(folder, mpirun, riesz, config):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/pictures")
    make_pictures(f"{folder}/pictures")

    def output_of(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout

    def log_of(*command):
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL).stdout

    def words_of(name, words):
        return [config, f"data.images={folder}/pictures", *SMALL, "layout.dp=1", *words, f"output.folder={folder}/{name}"]

    def train(name, workers, *words):
        print(log_of(mpirun, "-n", str(workers), riesz, "train", *words_of(name, words)))

    steps = ["train.steps=8", "train.eval_every=4"]
    for name, (workers, keys) in LAYOUTS.items():
        train(name, workers, *steps, *keys, *(["checkpoint.every=4"] if workers == 1 else []))
    one = losses_in(f"{folder}/one worker")
    for name in LAYOUTS:
        run = losses_in(f"{folder}/{name}")
        assert run.keys() == one.keys() and len(run) == 10, f"{name} has other rows"
        worst = max(abs(run[key] - one[key]) for key in run)
        assert worst <= BOUND, f"the losses of {name} differ by {worst:.2e}; the bound is {BOUND:.0e}"
    print("the same losses at every layout")

    layout = "sp, tp = 2"
    said = output_of(riesz, "explain", *words_of(layout, [*steps, *LAYOUTS[layout][1]]), "--all").split("sends in a step\n")[1]
    with open(f"{folder}/{layout}/report.txt", encoding="utf-8") as file:
        assert said in file.read(), said
    print("explained as it was counted")

    with open(f"{folder}/one worker/checkpoint-8/config.json", encoding="utf-8") as file:
        model = json.load(file)
    assert model["id2label"] == {str(i): str(i) for i in range(4)} and model["label2id"] == {str(i): i for i in range(4)}

    shutil.copytree(f"{folder}/one worker", f"{folder}/resumed")
    shutil.rmtree(f"{folder}/resumed/checkpoint-8")
    train("resumed", 1, *steps, "checkpoint.every=4", "--resume")
    weights = [open(f"{folder}/{name}/checkpoint-8/model.safetensors", "rb").read() for name in ("one worker", "resumed")]
    assert losses_in(f"{folder}/resumed") == one and weights[0] == weights[1]
    print("the same losses and weights when resumed")

    train("learns", 2, "layout.dp=2", "data.mirror=false", "data.shift=0", "train.steps=150", "train.eval_every=150",
          "optimizer.learning_rate=1e-2", "precision=bf16", "checkpoint.every=150")
    learnt = f"{folder}/learns/checkpoint-150"
    go_on = [f"data.images={folder}/pictures", f"model.from={learnt}", "train.steps=1", "schedule.warm_up=0",
             "precision=bf16", "train.eval_size=20", "optimizer.learning_rate=0", "layout.tp=2", f"output.folder={folder}/on"]
    with open(f"{folder}/on.toml", "w", encoding="utf-8") as file:
        file.write('[data]\ntask = "images"\n')
    print(log_of(mpirun, "-n", "2", riesz, "train", f"{folder}/on.toml", *go_on))
    went_on, before = losses_in(f"{folder}/on"), losses_in(f"{folder}/learns")
    far = abs(went_on[1, "held_out_loss"] - before[150, "held_out_loss"])
    assert far <= 1e-2, f"gone on from, the held-out loss is another by {far:.2e}"
    print("gone on from what it learnt")

    draw = random.Random(2)
    names = [f"{folder}/{label}.png" for label in range(4)]
    for label, name in enumerate(names):
        write_png(name, 9, [draw.randrange(60) + 150 * ((row > 4) == label // 2 and (column > 4) == label % 2)
                            for row in range(9) for column in range(9)])
    said = output_of(mpirun, "-n", "2", riesz, "classify", learnt, *names, "--top", "1").split("\n")
    assert said[0::2] == names + [""] and [line.split()[-1] for line in said[1::2]] == ["0", "1", "2", "3"], said
    print("labelled as it learnt")
    # A training's folder is taken as well, and said in JSON.
    line, *none = output_of(riesz, "classify", f"{folder}/learns", names[2], "--json", "--quiet").splitlines()
    labelled = json.loads(line)
    assert not none and labelled["image"] == names[2] and labelled["labels"][0]["label"] == "2", line
    assert abs(sum(label["probability"] for label in labelled["labels"]) - 1) < 1e-6, line
    with open("/dev/full", "w", encoding="utf-8") as device:
        full = subprocess.run([riesz, "classify", learnt, names[0]], stdout=device, stderr=subprocess.PIPE, text=True, check=False)
    assert full.returncode == 71 and full.stderr.count("cannot write to standard output: No space left on device") == 1, full
    print("labelled in JSON by the folder of the training")

    pictures = f"{folder}/damaged"
    for number in range(60):
        label = number % 2
        place = f"{pictures}/{'train' if number < 40 else 'val'}/{label}"
        os.makedirs(place, exist_ok=True)
        write_png(f"{place}/{number}.png", 9, [draw.randrange(60) + 150 * (row > 4) * label for row in range(9) for _ in range(9)])
    for number in 10, 17, 38, 51:
        with open(f"{pictures}/{'train' if number < 40 else 'val'}/{number % 2}/{number}.png", "r+b") as file:
            file.truncate(60)
    few = ["train.steps=4", "train.eval_every=4", f"data.images={pictures}"]
    for name, (workers, keys) in {"one": LAYOUTS["one worker"], "two": LAYOUTS["dp = 2, ZeRO 3"]}.items():
        words = words_of(f"damaged, {name}", [*few, *keys])
        ended = subprocess.run([mpirun, "-n", str(workers), riesz, "train", *words], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, check=False)
        first = f'"{pictures}/train/0/10.png"'
        says = f"cannot read the image {first}: "
        assert ended.returncode != 0 and says in ended.stderr and "set data.skip_damaged=true" in ended.stderr, ended.stderr
        said = log_of(mpirun, "-n", str(workers), riesz, "train", *words, "data.skip_damaged=true")
        left_out = f"left out as they cannot be read: 3 to train on, 1 held out, the first {first}\n"
        assert said.count(left_out) == 2, said
        with open(f"{folder}/damaged, {name}/report.txt", encoding="utf-8") as file:
            assert left_out in file.read()
    runs = [losses_in(f"{folder}/damaged, {name}") for name in ("one", "two")]
    assert runs[0].keys() == runs[1].keys() and max(abs(runs[0][key] - runs[1][key]) for key in runs[0]) <= BOUND, runs
    print("damaged ones left out")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
