# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The losses of a training, as its folder has them."""

import csv


def losses_in(folder):
    """(step, column) -> number, of the columns loss and held_out_loss."""
    with open(f"{folder}/loss.csv", encoding="utf-8") as file:
        return {(int(row["step"]), column): float(row[column])
                for row in csv.DictReader(file) for column in ("loss", "held_out_loss") if row[column]}
