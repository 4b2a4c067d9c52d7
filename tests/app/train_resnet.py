#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""train_resnet.py FOLDER MPIRUN RIESZ CONFIG.toml: trains the example, made small, on pictures that are made here.

On one worker, and at layouts of two and four, also with rows and columns of images shared out, the losses must be those of
one: |a - b| <= 1e-5, in fp32. What a step sends is what `riesz explain` says, and `riesz plan-memory` knows the model. A
training that is resumed at its layout has the same bits, and at another one the same losses. At the end the labels of most
pictures are found, and `riesz classify` finds them too, with each picture on two workers.
"""

import os
import random
import shutil
import subprocess
import sys

from at_layouts import Trainings
from train_on_images import make_pictures, write_png

SMALL = ["model.image=18", "model.stem=6", "model.depths=[1,1]", "model.widths=[8,12]", "data.shift=1", "train.batch=12",
         "train.eval_size=20", "train.micro_batches=2", "schedule.warm_up=2"]
LAYOUTS = {
    "one worker": (1, []),
    "dp = 2, ZeRO 3": (2, ["layout.dp=2", "layout.zero=3", "layout.recompute=blocks"]),
    "rows": (2, ["layout.space=[2,1]", "layout.zero=1"]),
    "rows and columns": (4, ["layout=space2x2", "layout.zero=3"]),
    "channels and columns, in stages": (4, ["layout=pp2.space1x2", "pipeline.schedule=gpipe"]),
    "channels": (2, ["layout.tp=2"]),
}


def main(folder, mpirun, riesz, config):
    trainings = Trainings(folder, mpirun, riesz, config, [*SMALL, f"data.images={folder}/pictures"], LAYOUTS)
    os.makedirs(f"{folder}/pictures")
    make_pictures(f"{folder}/pictures")
    trainings.check_layouts()
    trainings.check_explained("rows and columns")
    trainings.check_resumed("rows")

    trainings.train("learns", 2, "layout.dp=2", "data.mirror=false", "data.shift=0", "train.steps=100", "train.eval_every=100")
    draw = random.Random(2)
    names = [f"{folder}/{label}.png" for label in range(4)]
    for label, name in enumerate(names):
        write_png(name, 9, [draw.randrange(60) + 150 * ((row > 4) == label // 2 and (column > 4) == label % 2)
                            for row in range(9) for column in range(9)])
    said = subprocess.run([mpirun, "-n", "2", riesz, "classify", f"{folder}/learns", *names, "--top", "1", "--quiet", "layout=space1x2"],
                          check=True, capture_output=True, text=True).stdout.split("\n")
    assert said[0::2] == names + [""] and [line.split()[-1] for line in said[1::2]] == ["0", "1", "2", "3"], said
    print("labelled as it learnt")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
