"""This project's packages on the workers of a real cluster.

They are sent as an archive that Spark unpacks beside each executor, so they need not be installed there; Python,
pyarrow, pandas and numba must be.  Paths of runs and of the warehouse must mean the same files on every machine.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

_PACKAGES: Final = ("history", "checker", "pipeline")
_UNPACKED: Final = "harness_packages"


def is_local(master: str) -> bool:
    """Do the tasks run in the driver's own JVM?"""
    return master.split("[")[0] == "local"


def is_on_this_machine(master: str) -> bool:
    """Can everything talk through the loopback interface?"""
    return is_local(master) or urlsplit(master).hostname in ("127.0.0.1", "localhost", "::1")


def cluster_settings(master: str, scratch: Path, memory: str) -> dict[str, str]:
    """Spark's settings for the executors of a cluster; none for a local master."""
    if is_local(master):
        return {}
    return {
        "spark.archives": f"{_archive(scratch)}#{_UNPACKED}",
        "spark.executorEnv.PYTHONPATH": _UNPACKED,
        "spark.executor.memory": memory,
    }


def _archive(scratch: Path) -> Path:
    home = Path(__file__).resolve().parents[2]
    path = scratch / "packages.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in _PACKAGES:
            for file in sorted((home / package).rglob("*.py")):
                archive.write(file, file.relative_to(home))
    return path
