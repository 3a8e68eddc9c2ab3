"""probes.jsonl: a node's word about itself, torn tails and bad lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from history import FormatError, Probe, read_probes
from history.records.probes import LeadershipClaim, by_rank, last_commit, leader_among, leader_by, probes_header

PROBES = [
    Probe(1, "n1", "leader", 3, "n1", 0, 9, 9, 8, 1, 2, 1_700_000_000_000),
    Probe(2, "n2", error="no connection: Connection refused"),
    Probe(3, "n3", own={"outstanding": 4, "load": 0.5, "state": "broadcast"}),
]


def file_of(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in (probes_header(), *lines)))
    return path


def test_round_trip(tmp_path: Path) -> None:
    path = file_of(tmp_path / "p", *(json.dumps(probe.to_json()) for probe in PROBES))
    assert read_probes(path) == PROBES
    assert [probe.answered for probe in PROBES] == [True, False, True]


def test_a_torn_file_reads_up_to_its_last_whole_line(tmp_path: Path) -> None:
    data = file_of(tmp_path / "p", *(json.dumps(probe.to_json()) for probe in PROBES)).read_bytes()
    cut = tmp_path / "cut"
    for size in range(len(data) + 1):
        cut.write_bytes(data[:size])
        assert read_probes(cut) == PROBES[: max(0, data[:size].count(b"\n") - 1)]


@pytest.mark.parametrize("line", ["{", "5", "[]", '{"time":1}', '{"time":1,"node":"n1","rolle":"x"}', "", "null"])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = file_of(tmp_path / "p", json.dumps(PROBES[0].to_json()), line)
    with pytest.raises(FormatError, match="line 3: not a probe"):
        read_probes(path)


@pytest.mark.parametrize("line", ["{}", "[]", '{"format":"harness-probes","version":2}', "x"])
def test_a_bad_header_is_line_1(tmp_path: Path, line: str) -> None:
    (tmp_path / "p").write_text(line + "\n")
    with pytest.raises(FormatError, match="line 1"):
        read_probes(tmp_path / "p")


@pytest.mark.parametrize(
    ("claims", "leader"),
    [
        ([], None),
        ([("n3", 0)], "n3"),
        ([("n1", 4), ("n2", 5)], "n2"),
        ([("n2", 5), ("n1", 4)], "n2"),
        ([("n2", 5), ("n1", 5)], "n1"),
    ],
)
def test_who_claims_the_highest_term_leads(claims: list[tuple[str, int]], leader: str | None) -> None:
    assert leader_among(claims) == leader


def test_without_terms_a_majority_of_all_members_names_the_leader_of_two() -> None:
    claims = [
        LeadershipClaim("n1", leads=True),
        LeadershipClaim("n2", leads=True),
        LeadershipClaim("n3", leads=False, names="n2"),
    ]
    assert leader_by(claims, ("n1", "n2", "n3")) == "n2"
    assert leader_by(claims, ("n1", "n2", "n3", "n4")) is None  # two of four
    assert leader_by(claims[:1], ("n1", "n2", "n3", "n4")) == "n1"
    assert leader_by(claims, ()) is None
    named = [
        LeadershipClaim("n1", leads=True),
        LeadershipClaim("n2", leads=True),
        LeadershipClaim("n3", leads=False, names="n9"),
        LeadershipClaim("n4", leads=False, names="n9"),
    ]
    assert leader_by([*named, LeadershipClaim("n5", leads=False, names="n9")], ("n1", "n2", "n3", "n4", "n5")) is None


def test_all_who_claim_to_lead_are_reported_in_one_order_whatever_the_order_of_their_claims() -> None:
    claims = [("n4", 5), ("n1", 4), ("n2", 5)]
    assert by_rank(claims) == by_rank(claims[::-1]) == ["n2", "n4", "n1"]
    assert leader_among(claims) == by_rank(claims)[0]


def committing(*rows: tuple[int, str, str, int, int, int]) -> int | None:
    """The last commit by answers of (time, node, role, term, commit index, end of the log)."""
    probes = [
        Probe(at, node, role, term, committed=committed, log_end=end)  # type: ignore[arg-type]
        for at, node, role, term, committed, end in rows
    ]
    return last_commit(probes)


def test_a_commit_is_new_above_all_that_had_been_committed() -> None:
    led = (1, "n1", "leader", 1, 5, 6), (2, "n1", "leader", 1, 6, 6)
    assert committing(*led) == 2
    assert committing(led[0]) is None
    assert committing() is None
    assert committing(*led, (3, "n2", "follower", 1, 6, 6)) == 2, "a follower learns of it later"
    again = (4, "n1", "follower", 1, -1, 6), (5, "n1", "follower", 1, 4, 6)
    assert committing(*led, *again) == 2, "a process that was started again learns what had been committed"
    assert committing((1, "n1", "leader", 1, -1, -1), (2, "n1", "leader", 1, 0, 0)) == 2, "the very first one"
    late = (9, "n1", "leader", 1, 7, 7), (3, "n1", "leader", 1, 8, 8)
    assert committing(*led, *late) == 3, "whatever the order of the answers"


def test_after_a_loss_a_leader_commits_above_the_log_that_it_was_elected_with() -> None:
    lost = (1, "n1", "leader", 1, 5, 9), (2, "n1", "leader", 1, 9, 9), (3, "n2", "leader", 2, 1, 4)
    assert committing(*lost, (4, "n2", "leader", 2, 4, 4)) == 2, "entries that it held when it was elected"
    assert committing(*lost, (4, "n2", "leader", 2, 5, 5)) == 4
    assert committing(*lost, (4, "n2", "follower", 2, 5, 5)) == 2
    assert committing(*lost, (4, "n2", "leader", 2, 5, 5), (5, "n2", "leader", 2, 5, 6)) == 4
    nowhere = (3, "n2", "leader", 2, 1, -1), (4, "n2", "leader", 2, 5, -1)
    assert committing(*lost[:2], *nowhere) == 2, "where logs end is not reported"
