"""How often a node logged the same over the whole run, whatever part of it an excerpt shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from history import RunFiles, node_logs

STARTED = datetime(2026, 11, 27, 4, 0, tzinfo=UTC)


def lines(text: str, *seconds: float) -> str:
    return "".join(f"{(STARTED + timedelta(seconds=at)).isoformat()} WARN {text.format(at)}\n" for at in seconds)


def test_a_repeated_line_is_counted_from_its_first_time_to_its_last(tmp_path: Path) -> None:
    """An excerpt from 20 to 30 s; older lines are in a rotated file, another node's and other words do not count."""
    files = RunFiles(tmp_path)
    (files.nodes / "n1").mkdir(parents=True)
    (files.nodes / "n2").mkdir()
    (files.nodes / "n1" / "server.log.1").write_text(lines("[Push-n3]Reset write index to {}", 8, 9))
    content = lines("[Push-n3]Reset write index to {}", 21, 22, 23) + lines("[Push-n2]Reset write index to {}", 24)
    (files.nodes / "n1" / "server.log").write_text(content + lines("[Push-n3]Reset write index to {}", 70))
    (files.nodes / "n2" / "server.log").write_text(lines("[Push-n3]Reset write index to {}", 1, 99))
    shown = node_logs.excerpt(files, STARTED.isoformat(), 20, 30)
    assert [(line.seconds, line.times) for line in shown] == [(21, 3), (24, 1)]
    first, second = node_logs.over_the_run(files, STARTED.isoformat(), shown)
    assert (first.node, first.times, first.seconds, first.last) == ("n1", 6, 8, 70)
    assert first.text.endswith("WARN [Push-n3]Reset write index to 8")
    assert (second.times, second.seconds, second.last) == (1, 24, 24)
