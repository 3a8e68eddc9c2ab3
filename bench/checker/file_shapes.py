"""Compare our verdicts on files in many shapes with porcupine v1.3.1: the same generated histories, the same verdicts.

    python bench/checker/file_shapes.py [--seeds 2]

Each history, valid or with one wrong answer, is written as Jepsen's EDN, logs and ``test.jepsen``, as JSON, as a table
and as our own, and read by what ``harness check`` calls.  Porcupine gets the operations in memory, as in ``run.py``,
which builds its program with the Go on the PATH.  Exits with 1 if a verdict differs.  About three minutes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import forms  # noqa: E402
import run as bench  # noqa: E402

from harness.files import FileCheckOptions, check_file  # noqa: E402
from history import read_history  # noqa: E402
from tests.support.history.dresses import DRESSES, Event  # noqa: E402

#: A register lies only after 200 changes; porcupine decides only short histories of a queue.
_REGISTER, _OTHER = 600, 200
_SECONDS: Final = 10.0


def events_of(path: Path) -> list[Event]:
    """Return the events of a ``history.jsonl``; the key of an operation on one of several is part of its value."""
    events = read_history(path).events
    several = len({event.key for event in events}) > 1
    return [
        (event.type, int(event.process), event.f, [event.key, event.value] if several else event.value)
        for event in events
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2, help="histories of each kind")
    seeds = parser.parse_args().seeds
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        program, path, file = (Path(scratch) / name for name in ("porcupine", "history", "history.jsonl"))
        subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "porcupine", check=True)
        for name, (model, _, how) in forms.ROWS.items():
            for seed, stale in ((seed, stale) for seed in range(seeds) for stale in (None, 0.5)):
                size = _REGISTER if "values" in how else _OTHER
                more: dict[str, Any] = {"keys": 3, "n": 3 * size} if "keys" in how else {"seed": seed, "n": size}
                bench.save(*bench.history({"clients": 5, "stale_at": stale, **how, **more}), path)
                right = bench.porcupine(program, path, _SECONDS)["result"]
                forms.write_jsonl(path, model, file)
                found[f"porcupine: {right}"] += 1
                for dress, write in DRESSES.items():
                    content = write(events_of(file))
                    shaped = Path(scratch, "shaped")
                    shaped.write_bytes(content if isinstance(content, bytes) else content.encode())
                    verdict = check_file(shaped, FileCheckOptions(model, deadline_s=_SECONDS)).report.verdict
                    found[f"ours: {verdict}"] += 1
                    if {verdict, right} == {"valid", "invalid"}:
                        found["differ"] += 1
                        print(f"{name}, seed {seed}, {dress}: porcupine says {right}, we say {verdict}")
                file.unlink()
    print(", ".join(f"{what}: {count}" for what, count in sorted(found.items())))
    return int(found["differ"] > 0)


if __name__ == "__main__":
    sys.exit(main())
