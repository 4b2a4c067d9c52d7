#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""train_fields.py FOLDER MPIRUN RIESZ CONFIG.toml: trains the example of a U-Net or of a Fourier neural operator, made small.

At layouts of two and four workers, also with rows and columns shared out, in stages and with ZeRO, the losses must be those of
one worker: |a - b| <= 1e-5, in fp32. So must the overlaps of labels. What a step sends is what `riesz explain` says, and `riesz
plan-memory` knows the model. A training that is resumed at its layout has the same bits. It draws what it predicts.
"""

import json
import os
import shutil
import subprocess
import sys

from at_layouts import ONE, Trainings

COMMON = ["data.count=40", "data.held_out=0.2", "train.eval_size=8", "train.batch=8", "train.micro_batches=2", "schedule.warm_up=2",
          "optimizer.learning_rate=1e-3", "output.pictures=2"]
SMALL = {
    "unet": ["model.image=16", "model.levels=3", "model.width=4"],
    "fno": ["model.image=16", "model.layers=2", "model.width=6", "model.hidden=8", "model.modes=[3,4]"],
}
LAYOUTS = {
    ONE: (1, []),
    "dp = 2, ZeRO 3": (2, ["layout.dp=2", "layout.zero=3", "layout.recompute=blocks"]),
    "rows and columns": (4, ["layout=space2x2", "layout.zero=1"]),
    "channels and columns": (4, ["layout=space1x2.tp2"]),
    "in stages": (2, ["layout=pp2", "layout.recompute=blocks"]),
}


def overlaps_in(folder):
    with open(f"{folder}/metrics.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row["held_out_iou"] for row in rows if "held_out_iou" in row]


def check_overlaps(folder):
    one = overlaps_in(f"{folder}/{ONE}")
    assert len(one) == 2 and all(0 < overlap < 1 for overlap in one), one
    for name in LAYOUTS:
        worst = max(abs(a - b) for a, b in zip(overlaps_in(f"{folder}/{name}"), one, strict=True))
        assert worst <= 0.01, f"{name}: overlaps differ by {worst}"  # a pixel may have two labels that are almost as likely


def check_pictures(folder):
    for name in LAYOUTS:
        with open(f"{folder}/{name}/pictures.png", "rb") as file:
            picture = file.read()
        assert picture.startswith(b"\x89PNG") and len(picture) > 500, f"{name}: {picture[:8]}"
    print("drawn beside what is right")


def check_no_labels(trainings):
    refused = subprocess.run([trainings.riesz, "classify", f"{trainings.folder}/{ONE}", __file__], text=True, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    assert refused.returncode != 0 and "does not label images" in refused.stdout, refused.stdout
    refused = subprocess.run([trainings.riesz, "evaluate", f"{trainings.folder}/{ONE}", __file__], text=True, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    assert refused.returncode != 0 and "riesz predict says what it predicts" in refused.stdout, refused.stdout
    print("no labels of images")


def main(folder, mpirun, riesz, config):
    kind = os.path.basename(config).split("_")[0]
    trainings = Trainings(folder, mpirun, riesz, config, [*COMMON, *SMALL[kind]], LAYOUTS)
    trainings.check_layouts()
    if kind == "unet":
        check_overlaps(folder)
    trainings.check_explained("rows and columns")
    trainings.check_resumed("in stages")
    check_pictures(folder)
    check_no_labels(trainings)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
