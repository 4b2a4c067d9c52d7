# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Trainings of one example, made small, at several layouts: their losses are those of one worker."""

import os
import shutil
import subprocess

from losses import losses_in

BOUND = 1e-5
ONE = "one worker"
STEPS = ["train.steps=8", "train.eval_every=4", "checkpoint.every=4"]


class Trainings:
    """`layouts`: workers and settings by name, among them "one worker". `small`: settings of all."""

    def __init__(self, folder, mpirun, riesz, config, small, layouts):
        self.folder, self.mpirun, self.riesz, self.config = folder, mpirun, riesz, config
        self.small, self.layouts = small, layouts
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)

    @staticmethod
    def log_of(*command):
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL).stdout

    def words_of(self, name, words):
        return [self.config, *self.small, "layout.dp=1", *words, f"output.folder={self.folder}/{name}"]

    def train(self, name, workers, *words):
        print(self.log_of(self.mpirun, "-n", str(workers), self.riesz, "train", *self.words_of(name, words)))

    def check_near(self, name):
        one, run = losses_in(f"{self.folder}/{ONE}"), losses_in(f"{self.folder}/{name}")
        assert run.keys() == one.keys() and len(run) == 10, f"{name} has other rows"
        worst = max(abs(run[key] - one[key]) for key in run)
        assert worst <= BOUND, f"the losses of {name} differ by {worst:.2e}; the bound is {BOUND:.0e}"

    def check_layouts(self):
        for name, (workers, keys) in self.layouts.items():
            self.train(name, workers, *STEPS, *keys)
            self.check_near(name)
        print("the same losses at every layout")

    def check_explained(self, name):
        words = self.words_of(name, [*STEPS, *self.layouts[name][1]])
        said = self.log_of(self.riesz, "explain", *words, "--all").split("sends in a step\n")[1]
        with open(f"{self.folder}/{name}/report.txt", encoding="utf-8") as file:
            assert said in file.read(), said
        assert "and they fit" in self.log_of(self.riesz, "plan-memory", *words)
        print("explained as it was counted, and planned")

    def check_resumed(self, elsewhere):
        for name, (workers, keys) in {"resumed": self.layouts[ONE], "elsewhere": self.layouts[elsewhere]}.items():
            shutil.copytree(f"{self.folder}/{ONE}", f"{self.folder}/{name}")
            shutil.rmtree(f"{self.folder}/{name}/checkpoint-8")
            self.train(name, workers, *STEPS, *keys, "--resume")
            self.check_near(name)
        weights = []
        for name in (ONE, "resumed"):
            with open(f"{self.folder}/{name}/checkpoint-8/model.safetensors", "rb") as file:
                weights.append(file.read())
        assert losses_in(f"{self.folder}/resumed") == losses_in(f"{self.folder}/{ONE}") and weights[0] == weights[1]
        print("the same losses when resumed, and at its layout the same weights")
