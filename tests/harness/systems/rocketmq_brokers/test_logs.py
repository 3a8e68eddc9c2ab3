"""The bytes of the commit logs: equal logs, logs that differ, and what is not compared."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.systems import Setup
from harness.systems.api import Evidence
from harness.systems.rocketmq_brokers.logs import differs_at, log_in, logs_of_ha, logs_on_dledger
from harness.systems.rocketmq_brokers.probes import END, EPOCH
from history import Check, Probe, Receipt
from history.records.finding import Skipped

Judge = Callable[..., Check]
PLACES = {logs_of_ha: "store/commitlog", logs_on_dledger: "store/dledger-n1/data"}
BOTH = pytest.mark.parametrize("judge", PLACES)


def packed(path: Path, files: Mapping[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in {"controller/index/00000000000000000000": b"else", **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def probe(node: str, end: int, epoch: int = 3, leads: bool = False) -> Probe:
    role: Any = "leader" if leads else "follower"
    return Probe(1, node, role=role, committed=end, own={END: end, EPOCH: epoch})


def judged(judge: Any, tmp_path: Path, logs: Mapping[str, Sequence[bytes]], *probes: Probe, **more: Any) -> Check:
    """Judge logs, each of files of eight bytes."""
    for node, parts in logs.items():
        files = {f"{PLACES[judge]}/{8 * place:020}": part for place, part in enumerate(parts)}
        packed(tmp_path / node / "store.tar.gz", files)
    whole: dict[str, Any] = {"nodes": ("n1", "n2"), "receipts": (), "recovered": ("n1", "n2"), **more}
    check: Check = judge(
        Evidence(setup=Setup(version="1"), operations=(), probes=probes, moments={}, files=tmp_path,
                 **whole)
    )  # fmt: skip
    return check


FIRST, SECOND = probe("n1", 12, leads=True), probe("n2", 10)
#: They differ at 13 only, which is beyond both ends, or at 9, which is not.
SAME = {"n1": [b"01234567", b"89abc..."], "n2": [b"01234567", b"89abcX.."]}
DIFFER = {"n1": [b"01234567", b"89abc..."], "n2": [b"01234567", b"8Xabc..."]}


@BOTH
def test_equal_logs_and_logs_that_differ(judge: Judge, tmp_path: Path) -> None:
    good = judged(judge, tmp_path, SAME, FIRST, SECOND)
    assert (good.verdict, good.findings) == ("valid", ())
    bad = judged(judge, tmp_path, DIFFER, FIRST, SECOND)
    assert (bad.verdict, [(one.kind, one.nodes) for one in bad.findings]) == (
        "invalid",
        [("logs-differ", ("n2",))],
    )
    assert "bytes at 9 of 10" in bad.seen


@BOTH
@pytest.mark.parametrize(
    "more",
    [
        {"recovered": ("n1",)},
        {"receipts": (Receipt(0, "file-bitflip", "installed", 0, ("n2",), witness={"damaged": {}}),)},
        {"receipts": (Receipt(0, "crash-random-nodes", "installed", 0, ("n2",), witness={"cut": 1}),)},
    ],
)
def test_logs_that_may_differ(judge: Judge, tmp_path: Path, more: dict[str, Any]) -> None:
    check = judged(judge, tmp_path, DIFFER, FIRST, SECOND, **more)
    assert check.verdict == "valid"
    assert all(isinstance(one, Skipped) for one in check.findings)
    assert "n2" in check.seen


@BOTH
@pytest.mark.parametrize(
    "harmless",
    [
        Receipt(0, "kill-all", "installed", 0, ("n1", "n2"), witness={"died": 2}),
        Receipt(0, "crash-all", "skipped", 0, ("n1", "n2"), reason="no time"),
    ],
    ids=["a killed process keeps its log", "skipped"],
)
def test_faults_after_which_logs_must_be_equal(judge: Judge, tmp_path: Path, harmless: Receipt) -> None:
    assert judged(judge, tmp_path, DIFFER, FIRST, SECOND, receipts=(harmless,)).verdict == "invalid"


@BOTH
def test_an_empty_log_says_nothing(judge: Judge, tmp_path: Path) -> None:
    (skipped,) = judged(judge, tmp_path, SAME, FIRST, probe("n2", 0)).findings
    assert isinstance(skipped, Skipped)
    assert judged(judge, tmp_path, SAME, FIRST, probe("n2", 1)).findings == ()


@BOTH
def test_each_replica_is_compared_with_the_leader(judge: Judge, tmp_path: Path) -> None:
    """The leader is the last one here, and the two others differ from it at different places."""
    logs = {"n1": [b"X1234567"], "n2": [b"01234567"], "n3": [b"0123456X"], "n4": [b"01234567"]}
    others = [probe(node, 8) for node in ("n1", "n2", "n3")]
    every = {"nodes": tuple(logs), "recovered": tuple(logs)}
    check = judged(judge, tmp_path, logs, *others, probe("n4", 8, leads=True), **every)
    assert [one.nodes for one in check.findings] == [("n1",), ("n3",)]


def test_without_a_leader_both_replicas_are_named(tmp_path: Path) -> None:
    for one, other in [(probe("n1", 12), SECOND), (FIRST, probe("n2", 10, leads=True))]:
        (found,) = judged(logs_on_dledger, tmp_path, DIFFER, one, other).findings
        assert found.nodes == ("n1", "n2")


@BOTH
def test_a_log_that_is_not_whole_is_not_compared(judge: Judge, tmp_path: Path) -> None:
    assert judged(judge, tmp_path, {**DIFFER, "n2": DIFFER["n2"][:1]}, FIRST, SECOND).verdict == "valid"
    assert judged(judge, tmp_path / "none", {"n1": DIFFER["n1"]}, FIRST, SECOND).verdict == "valid"


def test_a_slave_that_may_still_have_to_cut_its_log_is_not_compared(tmp_path: Path) -> None:
    assert judged(logs_of_ha, tmp_path, DIFFER, FIRST, probe("n2", 10, epoch=2)).verdict == "valid"
    assert judged(logs_of_ha, tmp_path, DIFFER, probe("n1", 12), SECOND).verdict == "valid", "nobody leads"


@given(st.binary(max_size=20), st.integers(0, 20))
def test_the_first_difference(one: bytes, place: int) -> None:
    other = bytearray(one)
    if place < len(one):
        other[place] ^= 1
    assert differs_at(one, bytes(other)) == (place if place < len(one) else None)


def test_a_broken_archive_has_no_log(tmp_path: Path) -> None:
    path = tmp_path / "store.tar.gz"
    packed(path, {"store/commitlog/00000000000000000000": b"0123"})
    assert log_in(path, 3) == b"012"
    path.write_bytes(path.read_bytes()[:60])
    assert log_in(path, 3) is None
