"""A made row of a store's list of runs."""

from __future__ import annotations

from dataclasses import replace

from reports.load.run_row import RunRow


def row(number: int, **changes: object) -> RunRow:
    plain = RunRow(
        test="t",
        run=f"r{number}",
        started=f"2026-03-{number:02d}",
        verdict="valid",
        kind="",
        sentence="",
        nemesis="kill",
        version="0.4.0",
        seed="1",
        options="timers=fast",
        operations=1000,
        rate=200.0,
        gap_s=1.0,
        recovery_s=2.0,
        never=0,
        violations=0,
        length_s=60.0,
        checks=(),
        files=(),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]
