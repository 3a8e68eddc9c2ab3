"""Real runs, recorded on a machine with two cores.

Six of DLedger 0.4.0 and BookKeeper, without logs and tables; those of DLedger are judged by the checks of this release,
but for the one that reads logs. What the checks of BookKeeper's histories saw is of the whole run, counts and windows
are not. The promises in the results, and the name of ZooKeeper's option ``peeks`` in the plans, are of this release.
``element-lost`` is of ZooKeeper 3.9.3, with all logs, ``epoch-granted-twice`` of RocketMQ's controller 5.3.3, of whose
logs only 16 to 25 s are kept. The histories of BookKeeper are cut. ``three-losses`` is of ZooKeeper 3.9.3 too: its
history holds a fifth of the elements, those that a node lost among them, in its adds and reads alike, and its logs the
lines around the alarms. These three are judged by the checks of this release. ``stuck-in-ring`` is of DLedger 0.4.0,
judged by an earlier release; its logs are those of n1 and n4 from 20.5 to 30 s, and of lines that were repeated they
hold one in up to a hundred. ``entries-lost`` is of DLedger 0.4.0 and whole, but for its logs; it is long, so only tests
that ask for it have it.
"""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path

RUNS = (
    "data-lost", "logs-cut", "replica-behind", "stale-reads", "ledgers-lost", "ledgers-kept", "element-lost",
    "epoch-granted-twice", "three-losses", "stuck-in-ring",
)  # fmt: skip
PACKED = Path(__file__).with_name("recorded")


@cache
def _files_of(name: str) -> dict[str, bytes]:
    """What a run consists of, by path: of each, decompression takes longer than it takes to write."""
    with tarfile.open(PACKED / f"{name}.tar.xz", "r:xz") as archive:
        found = {member.name: archive.extractfile(member) for member in archive}
        return {path.removeprefix("./"): file.read() for path, file in found.items() if file is not None}


def recorded_run(name: str, below: Path) -> Path:
    """Unpack a run into a directory of its name."""
    root = below / name
    root.mkdir()
    for path, content in _files_of(name).items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return root
