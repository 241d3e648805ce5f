"""Would fewer bits do, in the directions in which rows vary most? Why the codes of rows are signs of their dimensions.

python -m benchmarks.studies.dense_transforms [--rows 200000] [--queries 100] [--corpus .data]

Rows are turned by the eigenvectors of their covariance; each bit goes where it takes most of the variance away
(Lloyd-Max levels of a Gaussian), and a factor per row makes the estimate of the row itself exact, as for signs.
Prints a Markdown table: the standard error of estimates as a share of the deviation of products, how many of the ten
best rows and how many rows in all have estimates within 2.5 errors of the tenth best product. And what share the first
directions have in three things: the variance of products, the query, and what lifts the ten best above other rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.dense_recall import Vectors, real, synthetic

LOST = (1.0, 0.3634, 0.1175, 0.03454, 0.009497)
"""Share of a Gaussian's variance that 0 to 4 bits leave out (Max: "Quantizing for minimum distortion", 1960)."""
LEVELS: tuple[tuple[float, ...], ...] = (
    (),
    (0.7979,),
    (0.4528, 1.510),
    (0.2451, 0.7560, 1.344, 2.152),
    (0.1284, 0.3881, 0.6568, 0.9424, 1.256, 1.618, 2.069, 2.733),
)
CERTAINTY = 2.5
BITS = (64, 96, 128, 160, 192, 256)


def allot(variances: NDArray[np.float64], bits: int) -> NDArray[np.int64]:
    """Bits of each direction, at most 4: each goes where it takes most away."""
    gains = np.stack([(LOST[b] - LOST[b + 1]) * variances for b in range(4)])
    bits_by_axis = np.zeros(len(variances), np.int64)
    best_places = np.argsort(-gains.ravel(), kind="stable")[:bits]
    np.add.at(bits_by_axis, best_places % len(variances), 1)
    return bits_by_axis


def levels_of(rows: Vectors, variances: NDArray[np.float64], bits: int) -> Vectors:
    """What is kept of turned rows, scaled so that a row's product with its levels is right on average."""
    rounded = np.zeros_like(rows)
    for i, bits_of_axis in enumerate(allot(variances, bits)):
        if bits_of_axis:
            half = np.array(LEVELS[bits_of_axis], np.float32) * np.float32(np.sqrt(variances[i]))
            levels = np.concatenate([-half[::-1], half])
            nearest = np.searchsorted((levels[1:] + levels[:-1]) / 2, rows[:, i])
            rounded[:, i] = levels[nearest] / np.float32(1 - LOST[bits_of_axis])
    return rounded


def line(name: str, rows: Vectors, rounded: Vectors, queries: Vectors, products: Vectors) -> None:
    """Prints how well the kept parts of centred rows estimate their products with queries."""
    square = np.maximum((rows * rounded).sum(1), 1e-9)
    estimated = rounded * ((rows * rows).sum(1) / square)[:, None]
    errors = np.sqrt(queries**2 @ np.square(estimated - rows).mean(0))
    estimates = queries @ estimated.T
    tenth = np.partition(products, -10, axis=1)[:, -10]
    candidates = estimates >= (tenth - CERTAINTY * errors)[:, None]
    best = products >= tenth[:, None]
    share = float((errors / products.std(1)).mean())
    recall = candidates[best].mean()
    print(
        f"| {name} | {share:.2f} | {recall:.4f} | {candidates.mean():.2%} | {np.median(candidates.mean(1)):.2%} |",
        flush=True,
    )


def shares(values: NDArray[Any], ends: tuple[int, ...] = (16, 32, 64, 128, 192)) -> str:
    """What the first so many of all values have of their sum."""
    return ", ".join(f"{end}: {values[:end].sum() / values.sum():.2f}" for end in ends)


def measure(name: str, rows: Vectors, queries: Vectors) -> None:
    """Prints the lines of one data set."""
    centred: Vectors = rows - rows.mean(0, dtype=np.float32)
    eigenvalues, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64) / len(rows))
    variances, turn = np.maximum(eigenvalues[::-1], 0), axes[:, ::-1].astype(np.float32)
    turned, turned_queries = centred @ turn, queries @ turn
    products = turned_queries @ turned.T
    print(f"\n{name}, {len(rows):,} rows, {len(queries)} queries\n")
    print("| kept of a row | error | of the ten best | rows that pass, mean | median |")
    print("|---|---|---|---|---|")
    signs = np.where(centred > 0, np.float32(1), np.float32(-1))
    line(f"{rows.shape[1]} signs", centred, signs, queries, products)
    for bits in BITS:
        line(f"{bits} bits, turned", turned, levels_of(turned, variances, bits), turned_queries, products)
    best = np.argpartition(-products, 10, axis=1)[:, :10]
    lifts = np.stack([(turned[of] * query).mean(0) for of, query in zip(best, turned_queries, strict=True)])
    print(
        f"\nFirst directions have of the variance of products {shares((turned_queries**2).mean(0) * variances)};"
    )
    print(f"of the query {shares((turned_queries**2).mean(0))};")
    print(f"of the ten best rows' products {shares((lifts / lifts.sum(1, keepdims=True)).mean(0))}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--corpus", type=Path, default=Path(".data"))
    options = parser.parse_args()
    vectors = real(options.rows, options.queries, options.corpus)
    if vectors is not None:
        measure("Passages and real queries", *vectors)
    measure("Without structure", *synthetic(options.rows, options.queries, "none"))


if __name__ == "__main__":
    main()
