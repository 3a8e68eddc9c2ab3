"""Probes: what a status answer says, the file, and the loop that goes on asking whatever a node does."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.execution import probes as probes_module
from harness.execution.probes import ProbeLog, probe_forever, probe_of
from harness.systems.api import Prober
from harness.systems.dledger.status import StatusProber, figures
from history import Probe, read_probes
from tests.support.harness.toy_server import Request, closed_port, send, serving

STATUS: dict[str, Any] = {
    "id": 4, "ok": True, "node": "n1", "role": "leader", "term": 3, "leader": "n1", "ledgerBegin": 0, "ledgerEnd": 9,
    "committed": 8, "applied": 7, "snapshotsSaved": 2, "snapshotsLoaded": 1, "clockMs": 1_732_190_000_000,
    "version": "0.4.0", "unappliedOks": 0,
}  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Iterator[ProbeLog]:
    log = ProbeLog(tmp_path / "probes.jsonl")
    yield log
    log.close()


def test_a_status_answer_is_a_probe() -> None:
    assert probe_of(figures(STATUS), "n1", 5) == Probe(5, "n1", "leader", 3, "n1", 0, 9, 8, 7, 2, 1, 1_732_190_000_000)


def test_what_only_the_system_knows_is_kept_under_its_own_name() -> None:
    said = {"role": "leader", "log_end": 9, "term": None, "outstanding": 3, "load": 0.5, "state": "sync", "ok": True}
    odd = {"none": None, "list": [1, 2], "never": float("nan")}
    probe = probe_of({**said, **odd}, "n1", 5)
    assert (probe.role, probe.log_end, probe.term) == ("leader", 9, -1)
    own = {"outstanding": 3, "load": 0.5, "state": "sync", "ok": 1, "list": "[1, 2]", "never": "nan"}
    assert (probe.own, probe.to_json()["own"]) == (own, own)


@pytest.mark.parametrize(
    "wrong",
    [{"term": "3"}, {"applied": 1.5}, {"committed": True}, {"role": "king"}, {"leader": 1}, {"committed": 2**64 - 1}],
)
def test_a_figure_of_another_type_is_no_probe(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"wrong type: {next(iter(wrong))} "):
        probe_of(wrong, "n1", 5)


def test_what_is_the_harness_s_own_is_never_the_nodes() -> None:
    probe = probe_of({"time": 9, "node": "n7", "error": "mine"}, "n1", 5)
    assert (probe.time, probe.node, probe.error) == (5, "n1", None)
    assert probe.own == {"time": 9, "node": "n7", "error": "mine"}


def test_a_program_s_own_count_is_ours_only_under_our_name() -> None:
    theirs = {"undecodable": 3, "unapplied_oks": 1, "snapshots_loaded": 2, "own": 5}
    assert probe_of(theirs, "n1", 5) == Probe(5, "n1", own=theirs)
    assert probe_of({"count.undecodable": 3}, "n1", 5) == Probe(5, "n1", undecodable=3)
    with pytest.raises(ValueError, match=r"wrong type: count\.undecodable 'three'"):
        probe_of({"count.undecodable": "three"}, "n1", 5)


def test_a_node_that_knows_no_leader() -> None:
    probe = probe_of(figures({**STATUS, "role": "candidate", "leader": None}), "n1", 5)
    assert (probe.role, probe.leader, probe.answered) == ("candidate", None, True)


@pytest.mark.parametrize("answer", [{}, {"ok": False, "message": "starting"}, {"ok": 1}, {"ok": None}])
def test_what_is_no_status_says_so(answer: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=str(answer.get("message", "{"))):
        figures(answer)


@pytest.mark.parametrize("changes", [{"term": "3"}, {"applied": 1.5}, {"committed": True}, {"role": 1}, {"leader": 1}])
def test_a_status_of_the_wrong_shape_is_an_error_and_no_figure(changes: dict[str, Any]) -> None:
    """A figure of another type would break what compares it, long after the run."""
    with pytest.raises(ValueError, match=f"wrong type: {next(iter(changes))}"):
        probe_of(figures({**STATUS, **changes}), "n1", 5)


def test_the_newest_word_of_each_node_is_at_hand_and_all_are_on_disk(log: ProbeLog, tmp_path: Path) -> None:
    probes = [Probe(1, "n1", term=1), Probe(2, "n2", error="gone"), Probe(3, "n1", term=2)]
    for probe in probes:
        log.append(probe)
    log.sync()
    assert log.latest == {"n1": probes[2], "n2": probes[1]}
    assert read_probes(tmp_path / "probes.jsonl") == probes == log.all


def test_a_node_that_is_no_member_is_recorded_but_has_no_place_in_the_members_log(tmp_path: Path) -> None:
    log = ProbeLog(tmp_path / "of-members.jsonl", ("n1", "n2"))
    for number, node in enumerate(("n1", "n3", "n2")):
        log.append(Probe(number, node, applied=number))
    log.close()
    assert [probe.node for probe in log.all] == ["n1", "n3", "n2"]
    assert [probe.node for probe in log.of_members] == ["n1", "n2"]
    assert log.logless == ["n1", "n2"], "no prober has said that they report an applied index"


def test_the_leader_is_who_claims_the_highest_term(log: ProbeLog) -> None:
    assert log.leader() is None
    log.append(Probe(1, "n1", "leader", 4))
    log.append(Probe(2, "n2", "leader", 5))
    log.append(Probe(3, "n3", "follower", 6))
    assert log.leader() == "n2"
    log.append(Probe(4, "n2", error="gone"))
    assert log.leader() == "n1"


@pytest.mark.slow
def test_nodes_are_asked_again_and_again_whatever_one_of_them_does(
    log: ProbeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes_module, "PERIOD_S", 0.02)
    # Long enough for a node that answers at all, on a busy machine too; only the mute node ever waits for its end.
    monkeypatch.setattr(probes_module, "TIMEOUT_S", 2.0)

    async def status(request: Request, writer: asyncio.StreamWriter) -> None:
        send(writer, {**STATUS, "id": request["id"]})

    async def silence(request: Request, writer: asyncio.StreamWriter) -> None:
        pass

    async def babble(request: Request, writer: asyncio.StreamWriter) -> None:
        send(writer, b"what?\n")

    async def scene() -> None:
        async with serving(status) as good, serving(silence) as mute, serving(babble) as odd:
            endpoints = {name: (toy.host, toy.port) for name, toy in (("good", good), ("mute", mute), ("odd", odd))}
            endpoints["down"] = ("127.0.0.1", closed_port())
            probers = {name: StatusProber(*endpoint) for name, endpoint in endpoints.items()}
            probing = asyncio.create_task(probe_forever(probers, log, time.monotonic_ns))
            async with asyncio.timeout(60):
                while any(sum(probe.node == node for probe in log.all) < 2 for node in endpoints):
                    await asyncio.sleep(0.05)
            probing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await probing

    asyncio.run(scene())
    seen = {node: [probe for probe in log.all if probe.node == node] for node in ("good", "mute", "odd", "down")}
    assert all(len(probes) >= 2 for probes in seen.values())
    assert len(seen["good"]) > len(seen["mute"])
    assert {node: all(probe.answered for probe in probes) for node, probes in seen.items()} == {
        "good": True, "mute": False, "odd": False, "down": False,
    }  # fmt: skip
    assert "no answer within" in (seen["mute"][0].error or "")
    assert "no connection" in (seen["down"][0].error or "")
    assert [probe.time for probe in log.all] == sorted(probe.time for probe in log.all)


class _HangingProber:
    """A client library that hangs: in its first question, and in closing."""

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, timeout: float) -> dict[str, Any]:
        self.asked += 1
        if self.asked == 1:
            await asyncio.Event().wait()
        return {"term": 7}

    async def close(self) -> None:
        await asyncio.Event().wait()


def test_a_prober_that_does_not_return_is_asked_again_and_its_closing_is_not_waited_for(
    log: ProbeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes_module, "PERIOD_S", 0.01)
    monkeypatch.setattr(probes_module, "TIMEOUT_S", 0.05)
    monkeypatch.setattr(probes_module, "OVERDUE_S", 0.05)

    async def scene() -> None:
        probing = asyncio.create_task(probe_forever({"n1": _HangingProber()}, log, time.monotonic_ns))
        while len(log.all) < 2:
            await asyncio.sleep(0.01)
        probing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probing

    asyncio.run(asyncio.wait_for(scene(), 30))
    assert log.all[0].error == "its prober had not returned 0.05 s after its timeout"
    assert log.all[1].term == 7


class _Saying:
    def __init__(self, **figures: Any) -> None:
        self.figures = figures

    async def ask(self, timeout: float) -> dict[str, Any]:
        return self.figures

    async def close(self) -> None: ...


def test_a_node_that_never_says_what_it_applied_keeps_no_log(log: ProbeLog) -> None:
    """One that has applied nothing says -1, which the recorded probe does not tell from saying nothing."""
    probers: dict[str, Prober] = {
        "arbiter": _Saying(role="follower", term=3, applied=None),
        "empty": _Saying(role="follower", term=3, applied=-1),
        "down": StatusProber("127.0.0.1", closed_port()),
    }

    async def scene() -> None:
        probing = asyncio.create_task(probe_forever(probers, log, time.monotonic_ns))
        while {probe.node for probe in log.all} != {*probers}:
            await asyncio.sleep(0.01)
        probing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probing

    asyncio.run(asyncio.wait_for(scene(), 30))
    assert log.logless == ["arbiter"]


def test_a_full_disk_ends_the_probing(log: ProbeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Probe) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log, "append", full)
    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(probe_forever({"n1": StatusProber("127.0.0.1", closed_port())}, log, time.monotonic_ns))
    assert caught.group_contains(OSError, match="No space left")


def test_a_disk_that_takes_half_a_line_leaves_whole_lines_only(
    log: ProbeLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append(Probe(1, "n1", term=1))
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:20]))
    with pytest.raises(OSError, match="only 20 of"):
        log.append(Probe(2, "n1", term=2))
    monkeypatch.undo()
    with pytest.raises(OSError, match="only 20 of"):  # the disk has room again, but the file has a hole
        log.append(Probe(3, "n1", term=3))
    assert read_probes(tmp_path / "probes.jsonl") == [Probe(1, "n1", term=1)] == log.all
    assert (tmp_path / "probes.jsonl").read_bytes().endswith(b"\n")
