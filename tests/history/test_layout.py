"""The files of a run are where everybody expects them."""

from __future__ import annotations

from pathlib import Path

from history import RunFiles


def test_every_file_is_inside_the_run() -> None:
    run = RunFiles(Path("store/t/1"))
    names = {name: getattr(run, name) for name in vars(RunFiles) if isinstance(vars(RunFiles)[name], property)}
    assert {path.parent for path in names.values()} == {run.root}
    assert len(set(names.values())) == len(names)
    assert run.table("faults") == Path("store/t/1/tables/faults.parquet")
    assert (run.history.name, run.state.name, run.results.name) == ("history.jsonl", "run.json", "results.json")
