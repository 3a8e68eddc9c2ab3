"""Real runs of DLedger 0.4.0 on five nodes, recorded on a machine with two cores; without logs and tables."""

from __future__ import annotations

import tarfile
from pathlib import Path

PACKED = Path(__file__).with_name("recorded")


def recorded_run(name: str, below: Path) -> Path:
    """Unpack a run into a directory of its name."""
    root = below / name
    root.mkdir()
    with tarfile.open(PACKED / f"{name}.tar.xz", "r:xz") as archive:
        for member in archive.getnames():
            content = archive.extractfile(member)
            assert content is not None
            (root / Path(member).name).write_bytes(content.read())
    return root
