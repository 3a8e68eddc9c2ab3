"""Draw results.json: CPU time over the history's length, ours and porcupine's.

python bench/checker/plot.py RESULTS.json PICTURE.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

PANELS = {"each value written once": None, "five values": 5}
COLOURS = {5: "#4c78a8", 10: "#f58518", 30: "#54a24b"}


def _series(results: list[dict[str, Any]], values: int | None, clients: int, who: str) -> list[tuple[int, float]]:
    return [
        (result["case"]["n"], result[who]["cpu"])
        for result in results
        if result["case"]["values"] == values
        and result["case"]["clients"] == clients
        and result["case"]["stale_at"] is None
        and not {"cas", "keys", "log", "what"} & set(result["case"])
        and result[who]["cpu"] is not None
        and result[who]["result"] in ("valid", "invalid")
    ]


def main() -> None:
    results = json.loads(Path(sys.argv[1]).read_text())["results"]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axis, (title, values) in zip(axes, PANELS.items(), strict=True):
        for clients, colour in COLOURS.items():
            for who, style in (("ours", "-o"), ("porcupine", "--x")):
                points = _series(results, values, clients, who)
                axis.plot(
                    *zip(*points, strict=True), style, color=colour, label=f"{who}, {clients} clients"
                ) if points else None
        axis.set(title=title, xscale="log", yscale="log", xlabel="operations")
        axis.grid(visible=True, alpha=0.3)
    axes[0].set_ylabel("CPU seconds")
    axes[1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=110)


if __name__ == "__main__":
    main()
