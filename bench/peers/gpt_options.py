# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The sizes and steps that bench/gpt_step and its peers are given, by the same names."""
import argparse


def gpt_parser(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--vocabulary", type=int, default=256)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--batch", type=int, default=8, help="sequences, over all ranks")
    parser.add_argument("--steps", type=int, default=20, help="steps that count, after three that do not")
    parser.add_argument("--losses", action="store_true", help="print the loss of every step")
    parser.add_argument("--load", default="", help="weights and tokens to begin with")
    return parser
