"""The schemas: a word about every column, and nullability that is meant."""

from __future__ import annotations

from history import Operation, Probe
from history.tables.schemas import ALL_TABLES, OPERATIONS, PROBES, RUNS, TRENDS


def test_every_column_says_what_it_means() -> None:
    for name, schema in {**ALL_TABLES, "runs": RUNS, "trends": TRENDS}.items():
        for field in schema:
            assert field.metadata[b"meaning"], f"{name}.{field.name}"


#: What a process says of its own health, or a system says of itself, is judged from the probes themselves; the table
#: is of roles and indexes.
ONLY_IN_PROBES = {
    "state_index", "digest", "unapplied_oks", "apply_errors", "reapplied", "undecodable", "fault", "pid", "own",
}  # fmt: skip


def test_tables_have_the_fields_of_their_types() -> None:
    assert set(OPERATIONS.names) == set(Operation.__slots__)
    assert set(PROBES.names) == set(Probe.__slots__) - ONLY_IN_PROBES
