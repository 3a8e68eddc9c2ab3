"""The end of a run: recovery, quiescence, the last reads, and a restart, each with what can go wrong in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import NotReadyError, RemoteError
from harness.execution import final_phase
from harness.execution.final_phase import level, resting
from harness.runstate import RunState
from harness.systems.dledger import SYSTEM as DLEDGER
from history import UNAPPLIED, Probe
from tests.support.harness.scene import REACHED, RESTART, SHORT, Scene, ToySystem
from tests.support.harness.toy_register import ToyRegister, quicken

NODES = ("n1", "n2", "n3")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quicken(monkeypatch)


@pytest.fixture
def register() -> Iterator[ToyRegister]:
    with ToyRegister() as register:
        yield register


# -- quiescence --------------------------------------------------------------------------------------------------------


def reported(*states: tuple[str, int | None]) -> list[Probe]:
    """Probes in their order: a node, and what it has applied (None: it did not answer)."""
    return [
        Probe(time, node, error="no connection") if applied is None else Probe(time, node, applied=applied)
        for time, (node, applied) in enumerate(states)
    ]


@pytest.mark.parametrize(
    ("states", "at_rest", "all_level"),
    [
        ([("n1", 5), ("n2", 5), ("n3", 5)] * 2, True, True),
        ([("n1", 5), ("n2", 5), ("n3", 5)], False, False),  # asked once
        ([("n1", 5), ("n2", 5)] * 2 + [("n3", 5)], False, False),
        ([("n1", 4), ("n2", 5), ("n3", 5), ("n1", 5), ("n2", 5), ("n3", 5)], False, False),  # n1 moved
        ([("n1", 4), ("n2", 5), ("n3", 5)] * 2, True, False),  # n1 stands still, behind the others
        ([("n1", None), ("n2", 5), ("n3", 5)] * 2, True, False),  # n1 is down: the others rest, once it was waited for
        ([("n1", 5), ("n2", 5), ("n3", 5)] * 2 + [("n1", None)], True, False),  # it may be at work and not answer
        ([("n1", 7883), ("n2", 7883)] * 2 + [("n3", 7723), ("n3", None)], False, False),  # as this one was
        ([("n1", 4), ("n1", None), ("n2", 5), ("n3", 5)] * 2 + [("n1", 5)], False, False),
        ([("n1", None), ("n2", 5), ("n3", 5), ("n1", 5), ("n2", 5), ("n3", 5)], False, False),  # it just came
        ([("n1", None), ("n2", None), ("n3", None)] * 2, False, False),
        ([], False, False),
    ],
)
def test_who_rests(states: list[tuple[str, int | None]], at_rest: bool, all_level: bool) -> None:
    probes = reported(*states)
    assert (resting(probes), level(probes, NODES)) == (at_rest, all_level)


def test_a_state_that_moves_under_a_standing_applied_index_does_not_rest() -> None:
    probes = [Probe(time, node, applied=5, state_index=time) for time in range(3) for node in NODES]
    assert not resting(probes)
    assert not level(probes, NODES)


def test_the_quiet_moment_has_no_load_around_it(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register).run()
    moments = scene.state.moments
    begun = [op.invoked for op in scene.operations if moments["recovered"] <= op.invoked < moments["final-reads"]]
    assert begun == []
    assert moments["recovered"] <= moments["quiet"] <= moments["final-reads"]


def test_a_node_that_stands_still_behind_the_others_is_quiet_at_the_deadline(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(final_phase, "QUIET_S", 0.5)
    register.stuck.add("n3")
    scene = Scene(tmp_path, register, replace(SHORT, recovery_time=0.3)).run()
    assert "recovered" not in scene.state.moments
    assert scene.state.moments["quiet"] - scene.state.moments["healed"] >= 0.7e9


def test_nodes_that_never_come_to_rest_are_reported_and_the_run_goes_on(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(final_phase, "QUIET_S", 0.4)
    register.restless = True
    scene = Scene(tmp_path, register).run()
    assert "quiet" not in scene.state.moments
    assert "final-reads" in scene.state.moments
    assert len(scene.state.warnings) == 1


# -- systems that say otherwise when they are back, or nothing ---------------------------------------------------------


def of_a_system(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> None:
    system = replace(DLEDGER, **parts)
    monkeypatch.setattr("harness.plan.installed", lambda name: system)
    monkeypatch.setattr("harness.plan.find_system", lambda name: system)


def test_a_systems_own_rule_is_waited_for(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, tuple[str, ...], int]] = []

    def after_five(probes: Sequence[Probe], nodes: Sequence[str], since: int) -> bool:
        asked.append((len(probes), tuple(nodes), since))
        return len(asked) > 5

    of_a_system(monkeypatch, recovered=after_five)
    scene = Scene(tmp_path, register).run()
    assert "recovered" in scene.state.moments
    assert {nodes for _, nodes, _ in asked} == {NODES}
    assert max(since for *_, since in asked) == scene.state.moments["healed"]
    of_a_system(monkeypatch, recovered=lambda *_: False)
    (tmp_path / "never").mkdir()
    assert "recovered" not in Scene(tmp_path / "never", register, replace(SHORT, recovery_time=0.3)).run().state.moments


def test_a_rule_that_fails_is_a_warning_and_the_run_goes_on(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(probes: Sequence[Probe], nodes: Sequence[str], since: int) -> bool:
        raise IndexError("no probe yet")

    of_a_system(monkeypatch, recovered=fails)
    scene = Scene(tmp_path, register, replace(SHORT, recovery_time=0.3)).run()
    (warning,) = scene.state.warnings
    assert warning.endswith("IndexError: no probe yet")
    assert "final-reads" in scene.state.moments


def test_of_nodes_that_say_nothing_nothing_is_waited_for(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_a_system(monkeypatch, prober=None)
    monkeypatch.setattr(ToySystem, "probers", lambda self: {})
    monkeypatch.setattr(final_phase, "QUIET_S", 60.0)
    scene = Scene(tmp_path, register, replace(SHORT, recovery_time=60.0)).run()
    assert (scene.state.warnings, "quiet" in scene.state.moments) == ([], False)
    assert {"recovered", "final-reads"} <= set(scene.state.moments)
    assert scene.seconds < 30


# -- acknowledged, and never applied -----------------------------------------------------------------------------------


def test_acknowledgements_of_what_was_never_applied_are_no_recovery(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register, replace(SHORT, recovery_time=0.4))
    scene.state.on_reach = lambda moment: setattr(register, "unapplied", 10**6 if moment == "healed" else 0)
    scene.run()
    assert "recovered" not in scene.state.moments


def test_a_final_read_that_was_not_applied_is_asked_again(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register)
    scene.state.on_reach = lambda moment: setattr(register, "unapplied", 7 if moment == "final-reads" else 0)
    scene.run()
    reads = [op for op in scene.operations if op.invoked >= scene.state.moments["final-reads"]]
    answers = 3 * SHORT.keys
    assert sum(op.error == UNAPPLIED for op in reads) == 7
    assert (
        sum(op.applied for op in reads) == answers
    )  # on a busy machine some are not answered in time, and asked again


def test_a_register_that_answers_without_applying_never_gets_warm(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.execution.conductor.WARM_UP_LIMIT_S", 0.5)
    register.unapplied, register.deaf_to_writes = 10**6, True
    scene = Scene(tmp_path, register, replace(SHORT, recovery_time=0.2, client_timeout=0.1))
    scene.state.on_reach = lambda moment: scene.conductor.stop() if moment == "main" else None
    scene.run()
    assert scene.state.moments["main"] - scene.state.moments["warm-up"] >= 0.5e9


# -- final reads -------------------------------------------------------------------------------------------------------


def test_the_deadline_of_the_final_reads_grows_with_the_keys(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred registers at five reads a second each would never fit into the time of three."""
    monkeypatch.setattr(final_phase, "FINAL_READS_S", 0.0)
    scene = Scene(tmp_path, register, replace(SHORT, keys=60)).run()
    began = scene.state.moments["final-reads"]
    read = {op.key for op in scene.operations if op.invoked >= began and op.outcome == "ok"}
    assert len(read) == 60


def test_a_register_that_is_never_answered_keeps_no_other_from_being_read(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(final_phase, "FINAL_READS_S", 0.5)
    scene = Scene(tmp_path, register)
    scene.state.on_reach = lambda moment: register.silent_keys.add("k0") if moment == "final-reads" else None
    scene.run()
    began = scene.state.moments["final-reads"]
    assert {op.key for op in scene.operations if op.invoked >= began and op.outcome == "ok"} == {"k1", "k2"}


# -- restart -----------------------------------------------------------------------------------------------------------

RESTARTING = replace(SHORT, restart_at_end=True)


def test_without_the_option_nothing_is_restarted(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register).run()
    assert scene.system.steps == []
    assert tuple(scene.state.moments) == REACHED


def test_all_are_killed_started_and_read_again(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register, RESTARTING).run()
    assert scene.state.failures == []
    assert scene.system.steps == ["kill", "start", "await_leader"]
    assert tuple(scene.state.moments) == (*REACHED, *RESTART)
    again = [op for op in scene.operations if op.invoked >= scene.state.moments["restarted"]]
    assert {(op.f, op.phase) for op in again} == {("read", "final"), ("write", "final")}
    first = min(op.invoked for op in again if op.f == "write")  # later reads cannot show what it hides
    assert {op.key for op in again if op.outcome == "ok" and op.ended < first} == {"k0", "k1", "k2"}
    # One that a busy machine answers too late has failed, and is asked again.
    assert {op.key for op in again if op.outcome == "ok"} == {"k0", "k1", "k2"}
    assert scene.verdicts() == {"valid"}


def test_what_a_restart_loses_is_a_violation(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register, RESTARTING)
    scene.state.on_reach = lambda moment: register.forget() if moment == "restarting" else None
    verdicts = scene.run().verdict_by_key()
    written = {op.key for op in scene.operations if (op.f, op.outcome) == ("write", "ok")}  # the others lost nothing
    assert written
    assert {key for key, verdict in verdicts.items() if verdict == "invalid"} == written


def test_a_system_that_does_not_start_again_is_its_own_finding(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register, RESTARTING)
    scene.system.fails = NotReadyError("the server on n2 exited while starting")
    scene.run()
    assert scene.state.failures == []
    assert scene.state.restart_failed == "the server on n2 exited while starting"
    assert RunState.read(scene.state.path).restart_failed == scene.state.restart_failed  # type: ignore[arg-type]
    assert "restarted" not in scene.state.moments


def test_those_that_did_start_get_the_time_to_answer(tmp_path: Path, register: ToyRegister) -> None:
    """Or nothing shows which node it was that did not, and whether an injected fault had damaged its files."""
    scene = Scene(tmp_path, register, RESTARTING)
    scene.system.fails = NotReadyError("the server on n2 exited while starting")
    scene.run()
    after = scene.state.moments["restarting"]
    assert {probe.node for probe in scene.probes.all if probe.answered and probe.time > after} == set(register.names)


def test_a_node_that_we_cannot_reach_is_ours(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register, RESTARTING)
    scene.system.fails = RemoteError("n2", "no SSH server answered")
    scene.run()
    assert scene.state.failures == ["RemoteError: n2: no SSH server answered"]
    assert scene.state.restart_failed is None


# -- standstills -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_standstill_is_no_part_of_the_time_to_recover(tmp_path: Path, register: ToyRegister) -> None:
    """A node that could not be asked is not late; one that is late in our own time still is."""
    register.stuck.add("n3")
    scene = Scene(tmp_path, register, replace(SHORT, recovery_time=0.5))

    def stand_still(moment: str) -> None:
        if moment == "healed":
            now: Any = scene.standstills._clock_ns()
            scene.standstills.note(now, now + 700_000_000)

    scene.state.on_reach = stand_still
    scene.run()
    moments = scene.state.moments
    assert moments["quiet"] - moments["healed"] >= 1.2e9
    # A busy machine may stand still by itself, too.
    (span,) = (span for span in scene.state.standstills if span[1] - span[0] == 700_000_000)
    assert moments["healed"] <= span[0] + 10_000_000
    assert span[0] < moments["quiet"]
