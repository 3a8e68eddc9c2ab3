"""Draw what scale.py measured: processor seconds and memory over size.

python bench/pipeline/plot.py RESULTS.json PICTURE.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

CASES = {
    "one-key": ("one key, Parquet to verdict", "#4c78a8", "o"),
    "keys": ("100 keys, Parquet to verdict", "#f58518", "s"),
    "history": ("10 keys, JSON lines to all tables", "#54a24b", "^"),
}
PANELS = {"cpu": ("processor seconds", "log"), "peak GB": ("peak memory of all processes (GB)", "linear")}


def main() -> None:
    results: list[dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text())
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for axis, (column, (title, scale)) in zip(axes, PANELS.items(), strict=True):
        for case, (label, colour, marker) in CASES.items():
            points = sorted((row["size"], row[column]) for row in results if row["case"] == case)
            if points:
                axis.plot(*zip(*points, strict=True), marker=marker, color=colour, label=label)
        axis.set(title=title, xscale="log", yscale=scale, xlabel="operations")
        axis.grid(visible=True, alpha=0.3)
    axes[1].set_ylim(bottom=0)
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=110)


if __name__ == "__main__":
    main()
