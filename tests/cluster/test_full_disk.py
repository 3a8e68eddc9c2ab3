"""A disk that is full before the end: the verb says so, what was recorded stays, and nothing half written is left."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.cluster.machine import HARNESS
from tests.support.harness.recorded_run import record

pytestmark = pytest.mark.cluster

#: In a mount namespace of its own, which takes the disk with it when it ends: fill a small disk up to that many bytes,
#: run a command on the store there, and save what it leaves.
ON_A_FULL_DISK = """
disk=$1 store=$2 free=$3 left=$4; shift 4
mount -t tmpfs -o size=4m none "$disk" && cp -a "$store" "$disk/store" || exit 99
head -c "$free" /dev/zero >"$disk/room"; cat /dev/zero >"$disk/filler" 2>/dev/null; rm "$disk/room"
"$@"; code=$?
cp -a "$disk/store" "$left" || exit 99
exit $code
"""


def contents(root: Path) -> dict[str, bytes | None]:
    """Every path below a directory, with the content of files."""
    return {str(one.relative_to(root)): one.read_bytes() if one.is_file() else None for one in root.rglob("*")}


@pytest.mark.parametrize(
    ("verb", "free", "code", "written"),
    [
        ("check", 0, 255, ""), ("check", 8 << 10, 255, ""), ("check", 64 << 10, 0, "results.json"),
        ("check", 3 << 20, 0, "report.html"), ("report", 0, 255, ""), ("report", 3 << 20, 0, "report.html"),
    ],
)  # fmt: skip
def test_a_full_disk_costs_a_sentence_and_leaves_nothing_half_written(
    tmp_path: Path, verb: str, free: int, code: int, written: str
) -> None:
    run = record(tmp_path / "store")
    before, disk = contents(tmp_path / "store"), tmp_path / "disk"
    disk.mkdir()
    words: list[str | Path] = [
        HARNESS,
        verb,
        "latest",
        "--store",
        disk / "store",
        *(["--no-spark"] if verb == "check" else []),
    ]
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", ON_A_FULL_DISK, "sh", disk, tmp_path / "store", str(free),
         tmp_path / "left", *words], text=True, capture_output=True, check=False,
    )  # fmt: skip
    after = contents(tmp_path / "left")
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ("No space left on device" in ended.stderr) is (free < 3 << 20)
    assert {path: content for path, content in after.items() if path in before} == before
    names = {part for path in after for part in Path(path).parts} - {".index.jsonl"}
    assert [name for name in names if name.startswith(".") or ".tmp" in name] == []
    assert not written or after[str((run.root / written).relative_to(tmp_path / "store"))]
    assert not list(disk.iterdir())
