"""Real runs, recorded on a machine with two cores.

Six are of DLedger 0.4.0 and BookKeeper, without logs and tables.  Those of DLedger are judged by the checks of this
release, except the check that reads logs.  The histories of BookKeeper are cut: what their checks saw describes the
whole run, but counts and windows do not.  The promises in the results, and the name of ZooKeeper's option ``peeks`` in
the plans, are those of this release.

``element-lost`` is of ZooKeeper 3.9.3, with all logs.  ``epoch-granted-twice`` is of RocketMQ's controller 5.3.3, with
the logs from 16 to 25 s.  ``three-losses`` is also of ZooKeeper 3.9.3: its history holds a fifth of the elements,
including those that a node lost, in adds and reads alike, and its logs hold the lines around the alarms.  These three
are judged by the checks of this release.

``stuck-in-ring`` is of DLedger 0.4.0 and judged by an earlier release.  It has the logs of n1 and n4 from 20.5 to 30 s,
with as few as one in a hundred of the repeated lines.  ``entries-lost`` is of DLedger 0.4.0 and whole, except for its
logs.  It is long, so only tests that ask for it get it.
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
    """Return the files of a run, by path; they are kept, because decompressing them takes longer than writing them."""
    with tarfile.open(PACKED / f"{name}.tar.xz", "r:xz") as archive:
        found = {member.name: archive.extractfile(member) for member in archive}
        return {path.removeprefix("./"): file.read() for path, file in found.items() if file is not None}


def recorded_run(name: str, below: Path) -> Path:
    """Unpack a run into a directory with its name."""
    root = below / name
    root.mkdir()
    for path, content in _files_of(name).items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return root
