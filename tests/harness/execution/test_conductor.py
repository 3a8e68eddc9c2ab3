"""The conductor, end to end, against a register in this process: three phases, and an orderly end whatever fails."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from checker import check_operations
from harness.execution import conductor as conductor_module
from harness.execution import final_phase
from harness.execution.standstills import STANDSTILL_NS
from harness.runstate import MOMENTS, RunState
from harness.systems.dledger.client import RegisterClient
from history import Event, pair, read_probes, receipts_of
from nemesis.schedule.runner import Unhealed
from tests.support.harness.scene import PLAN, REACHED, SHORT, Scene
from tests.support.harness.toy_nemesis import ToyNemesis
from tests.support.harness.toy_register import ToyRegister, quicken


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quicken(monkeypatch)


@pytest.fixture
def register() -> Iterator[ToyRegister]:
    with ToyRegister() as register:
        yield register


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One undisturbed run for all the tests that only look; no answer comes too late, however busy the machine is."""
    with ToyRegister() as register, pytest.MonkeyPatch.context() as patch:
        quicken(patch)
        yield Scene(tmp_path_factory.mktemp("whole"), register, replace(PLAN, client_timeout=60.0)).run()


# -- an undisturbed run ------------------------------------------------------------------------------------------------


def test_a_correct_register_gives_a_linearizable_history(whole: Scene) -> None:
    assert whole.state.failures == []
    assert whole.verdicts() == {"valid"}


def test_every_moment_is_reached_in_its_order(whole: Scene) -> None:
    assert list(whole.state.moments) == list(REACHED)
    times = list(whole.state.moments.values())
    assert times == sorted(times)
    assert whole.state.path is not None
    assert RunState.read(whole.state.path).moments == whole.state.moments


def test_times_and_indexes_grow(whole: Scene) -> None:
    assert [event.index for event in whole.events] == list(range(len(whole.events)))
    assert all(one.time <= other.time for one, other in zip(whole.events, whole.events[1:], strict=False))


def test_phases_are_labelled_by_the_moment_of_the_invocation(whole: Scene) -> None:
    begin = {"warm-up": "warm-up", "main": "main", "final": "main-end"}
    for operation in whole.operations:
        assert operation.phase is not None
        assert operation.invoked >= whole.state.moments[begin[operation.phase]]
    assert {operation.phase for operation in whole.operations} == {"warm-up", "main", "final"}


def test_both_ends_of_an_operation_have_its_key_function_phase_and_node(whole: Scene) -> None:
    open_: dict[Any, Event] = {}
    for event in whole.client_events:
        if event.type == "invoke":
            open_[event.process] = event
            assert event.node in whole.register.names
            assert (event.value is None) == (event.f == "read")
        else:
            invoked = open_.pop(event.process)
            assert (event.f, event.key, event.phase) == (invoked.f, invoked.key, invoked.phase)
    assert open_ == {}


def test_after_the_heal_every_kind_is_asked_for_again_with_values_that_are_new(whole: Scene) -> None:
    final = [op for op in whole.operations if op.invoked >= whole.state.moments["healed"]]
    assert {op.f for op in final if op.invoked < whole.state.moments["recovered"] and op.applied} == {"read", "write"}
    written = [op.value for op in whole.operations if op.f == "write"]
    assert len(written) == len(set(written))


def test_the_last_operations_are_reads_and_every_register_is_read_by_every_node(whole: Scene) -> None:
    final = [op for op in whole.operations if op.invoked >= whole.state.moments["healed"]]
    reads = [operation for operation in final if operation.invoked >= whole.state.moments["final-reads"]]
    assert {operation.f for operation in reads} == {"read"}
    assert {operation.outcome for operation in reads} == {"ok"}
    began = whole.state.moments["final-reads"]
    asked = Counter((e.key, e.node) for e in whole.client_events if e.type == "invoke" and e.time >= began)
    assert asked == dict.fromkeys(product(("k0", "k1", "k2"), whole.register.names), 1)


def test_with_fewer_clients_than_nodes_every_node_is_read_at_the_end_and_the_load_has_no_more(
    tmp_path: Path, register: ToyRegister
) -> None:
    scene = Scene(tmp_path, register, replace(SHORT, concurrency=1, client_timeout=60.0)).run()
    assert scene.state.failures == []
    began = scene.state.moments["final-reads"]
    asked = {(e.key, e.node) for e in scene.client_events if e.type == "invoke" and e.time >= began}
    keys = {operation.key for operation in scene.operations}
    assert asked == set(product(keys, register.names))
    assert {e.process for e in scene.client_events if e.phase != "final"} == {0}


def test_without_doubt_there_are_as_many_processes_as_workers(whole: Scene) -> None:
    assert {event.process for event in whole.client_events} == set(range(PLAN.concurrency))


def test_the_load_is_never_above_what_was_asked_for(whole: Scene) -> None:
    """How far it stays below on a busy machine is that machine's business."""
    main = [operation for operation in whole.operations if operation.phase == "main"]
    assert 5 <= len(main) <= PLAN.rate * PLAN.time_limit * 1.4


def test_the_fault_stands_in_the_history_with_its_receipt(whole: Scene) -> None:
    (receipt,) = receipts_of(whole.events)
    assert (receipt.state, receipt.nodes) == ("installed", ("n2",))
    assert receipt.healed is not None
    assert receipt.healed <= whole.state.moments["healed"]
    # Where the machine is slow, the main phase ends before the heal.
    main_end = whole.state.moments["main-end"]
    found = {(event.time < main_end, event.phase) for event in whole.events if event.process == "nemesis"}
    assert found <= {(True, "main"), (False, "main"), (False, "final")}


def test_probes_of_all_nodes_are_on_disk(whole: Scene) -> None:
    probes = read_probes(whole.path.with_name("probes.jsonl"))
    assert {probe.node for probe in probes if probe.answered} == set(whole.register.names)


def test_progress_shows_the_end(whole: Scene) -> None:
    tally = whole.context.tally
    assert (tally.phase, tally.fault, tally.note) == ("final", "", "final reads")
    assert sum(tally.completions.values()) == len(whole.operations)


# -- a register that does not do what it should ------------------------------------------------------------------------


def test_the_broken_twin_is_found(tmp_path: Path) -> None:
    with ToyRegister(forget_every=1) as register:
        scene = Scene(tmp_path, register).run()
    assert scene.state.failures == []
    assert "invalid" in scene.verdicts()


def test_a_cas_register_is_driven_and_judged_too(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register, replace(SHORT, workload="cas-register")).run()
    assert {operation.f for operation in scene.operations if operation.outcome == "ok"} == {"read", "write", "cas"}
    assert scene.verdicts("cas-register") == {"valid"}


def test_after_a_doubt_a_worker_goes_on_under_a_new_process_number(tmp_path: Path) -> None:
    with ToyRegister(lose_every=3) as register:
        # Long enough for a doubt of each worker, on a busy machine too.
        scene = Scene(tmp_path, register, PLAN).run()
    last = {event.process: event for event in scene.client_events}
    doubts = [event for event in scene.client_events if event.type == "info"]
    assert doubts
    assert all(last[event.process] is event for event in doubts)
    assert {event.process % PLAN.concurrency for event in doubts} <= set(range(PLAN.concurrency))
    follow = {int(event.process) + PLAN.concurrency for event in doubts}
    # A worker that reads at the end goes on for certain: one worker of each node.
    sure = {process for process in follow if process % PLAN.concurrency < len(register.names)}
    assert sure
    assert sure <= set(last) <= follow | set(range(PLAN.concurrency))
    assert scene.verdicts() == {"valid"}


@pytest.mark.slow
def test_a_node_that_never_catches_up_does_not_keep_the_run_from_its_end(tmp_path: Path, register: ToyRegister) -> None:
    register.stuck.add("n3")
    scene = Scene(tmp_path, register, replace(SHORT, recovery_time=0.3)).run()
    assert "recovered" not in scene.state.moments
    moments = scene.state.moments
    assert 0.25e9 < moments["final-reads"] - moments["healed"] < 5e9
    assert scene.state.failures == []


@pytest.mark.parametrize("dead", [True, False])
def test_a_key_that_is_not_served_after_the_heal_is_asked_for_as_long_as_the_cluster_may_take(
    tmp_path: Path, register: ToyRegister, dead: bool
) -> None:
    scene = Scene(tmp_path, register, replace(PLAN, recovery_time=1.0 if dead else 60.0, client_timeout=0.1))
    scene.state.on_reach = lambda moment: register.silent_keys.update({"k1"} if dead and moment == "healed" else ())
    moments = scene.run().state.moments
    asked = [
        op for op in scene.operations if op.key == "k1" and moments["healed"] < op.invoked < moments["final-reads"]
    ]
    assert asked
    assert ("recovered" in moments) is not dead
    assert not dead or asked[-1].invoked > moments["healed"] + 0.3e9


def test_a_register_that_answers_nothing_gives_a_history_without_any_ok(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conductor_module, "WARM_UP_LIMIT_S", 0.1)
    monkeypatch.setattr(final_phase, "FINAL_READS_S", 0.1)
    monkeypatch.setattr(final_phase, "QUIET_S", 0.1)
    register.deaf |= set(register.names)
    scene = Scene(tmp_path, register, replace(SHORT, client_timeout=0.05, recovery_time=0.1)).run()
    assert scene.state.failures == []
    assert {operation.outcome for operation in scene.operations} == {"fail", "info"}
    assert "recovered" not in scene.state.moments


# -- stopping ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", [moment for moment in MOMENTS if moment != "end"])
def test_stopped_in_any_phase_the_run_heals_and_winds_down(tmp_path: Path, register: ToyRegister, moment: str) -> None:
    scene = Scene(tmp_path, register, replace(SHORT, restart_at_end=True))
    stopped: list[int] = []

    def stop_at(reached: str) -> None:
        if reached == moment:
            scene.conductor.stop()
            stopped.append(scene.context.clock_ns())

    scene.state.on_reach = stop_at
    scene.run()
    assert scene.seconds < 5
    assert scene.state.failures == []
    assert scene.nemesis.heals > 0
    assert not scene.nemesis.standing
    assert "healed" in scene.state.moments
    late = [event for event in scene.client_events if event.type == "invoke" and event.time > stopped[0]]
    assert late == []
    assert all(operation.return_index is not None for operation in scene.operations)
    assert not nemesis_threads()


def test_a_stop_lets_open_operations_end(tmp_path: Path, register: ToyRegister) -> None:
    register.deaf |= {"n1"}
    scene = Scene(tmp_path, register, replace(SHORT, client_timeout=0.2))
    threading.Timer(0.05, scene.conductor.stop).start()
    scene.run()
    assert all(operation.return_index is not None for operation in scene.operations)
    assert scene.seconds < 5


def nemesis_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "nemesis"]


# -- failures of ours --------------------------------------------------------------------------------------------------


def test_a_full_disk_while_recording_is_recorded_and_everything_healed(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, write = Scene(tmp_path, register), os.write
    file = scene.history._file.descriptor

    def fill(moment: str) -> None:
        if moment == "main":
            threading.Timer(0.05, monkeypatch.setattr, (os, "write", full)).start()

    def full(fd: int, data: bytes) -> int:
        if fd != file:
            return write(fd, data)
        write(fd, data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    scene.state.on_reach = fill
    scene.run()
    assert any("No space left on device" in failure for failure in scene.state.failures)
    assert not scene.nemesis.standing
    assert scene.path.read_bytes().endswith(b"\n")
    assert len(scene.operations) > 0
    assert "final-reads" not in scene.state.moments
    assert scene.seconds < 5
    assert not nemesis_threads()


def test_probes_that_cannot_be_written_end_the_run_as_well(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register)

    def full(probe: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def fill(moment: str) -> None:
        if moment == "main":
            scene.probes.append = full  # type: ignore[method-assign]

    scene.state.on_reach = fill
    scene.run()
    assert scene.state.failures == ["OSError: [Errno 28] No space left on device"]
    assert not scene.nemesis.standing
    assert "final-reads" not in scene.state.moments


def test_a_disk_that_cannot_be_synced_ends_the_run(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register)

    def broken() -> None:
        raise OSError(errno.EIO, "Input/output error")

    scene.history.sync = broken  # type: ignore[method-assign]
    scene.run()
    assert scene.state.failures == ["StoreError: recording failed: [Errno 5] Input/output error"]


class FailingNemesis(ToyNemesis):
    def run(self, stop: threading.Event) -> None:
        self.inject()
        raise ValueError("n2: the connection went away")


def test_a_nemesis_that_fails_is_our_failure_and_is_healed(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register, nemesis=FailingNemesis).run()
    assert scene.state.failures == ["nemesis: ValueError: n2: the connection went away"]
    assert not scene.nemesis.standing
    assert "healed" in scene.state.moments
    assert "final-reads" not in scene.state.moments


class UnhealableNemesis(ToyNemesis):
    def heal_all(self, *, final: bool = False) -> tuple[Unhealed, ...]:
        super().heal_all(final=final)
        raise ValueError("n2 is gone")


def test_a_heal_that_fails_is_reported_and_keeps_nothing_from_winding_down(
    tmp_path: Path, register: ToyRegister
) -> None:
    scene = Scene(tmp_path, register, nemesis=UnhealableNemesis).run()
    assert scene.state.failures == ["nemesis: ValueError: n2 is gone"]
    assert "healed" in scene.state.moments


def left(*, by_system: bool) -> tuple[Unhealed, ...]:
    return (Unhealed("toy", 0, ("n2",), "umount: target is busy", by_system),)


def test_a_system_that_did_not_start_again_is_its_own_finding(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register)
    scene.nemesis.unhealed = left(by_system=True)
    scene.run()
    assert (scene.state.failures, scene.state.unhealed) == ([], [])
    assert scene.state.warnings == ["not healed: toy on n2: umount: target is busy"]
    assert "final-reads" in scene.state.moments
    assert scene.nemesis.closed


def test_a_fault_that_we_could_not_undo_is_a_failure_of_ours(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register)
    scene.nemesis.unhealed = left(by_system=False)
    scene.run()
    assert scene.state.failures == ["a fault could not be healed: toy on n2: umount: target is busy"]
    assert scene.state.unhealed == ["toy on n2: umount: target is busy"]
    assert "final-reads" not in scene.state.moments, "recovery under a fault that stands says nothing of the system"


class BusyForAMoment(ToyNemesis):
    """Healed at the third try."""

    def heal_all(self, *, final: bool = False) -> tuple[Unhealed, ...]:
        if self.standing and self.heals < 2:
            self.heals += 1
            self.record("invoke", "toy", {"action": "heal", "id": 0})
            self.record("info", "toy", {"action": "heal", "id": 0, "reason": "umount: target is busy"})
            return left(by_system=False)
        return super().heal_all(final=final)


def test_what_is_in_use_for_a_moment_is_healed_a_moment_later(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register, nemesis=BusyForAMoment).run()
    assert (scene.state.failures, scene.state.unhealed) == ([], [])
    assert scene.state.warnings == ["toy was healed, but not on the first try: umount: target is busy"]
    assert "final-reads" in scene.state.moments


class BusyNemesis(ToyNemesis):
    """Injects again and again until it is stopped, and does not heal by itself."""

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(0.005):
            self.inject()


def test_a_bug_of_ours_ends_the_run_in_order_and_no_fault_comes_after_the_heal(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path, register, nemesis=BusyNemesis)

    async def bug(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    def break_it(moment: str) -> None:
        if moment == "main":
            threading.Timer(0.05, monkeypatch.setattr, (RegisterClient, "perform", bug)).start()

    scene.state.on_reach = break_it
    scene.run()
    assert scene.state.failures == ["ZeroDivisionError: a bug"]
    assert not scene.nemesis.standing
    assert not nemesis_threads()


def test_a_schedule_that_does_not_end_is_cut_at_the_end_of_the_main_phase(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conductor_module, "OVERTIME_S", 0.1)
    scene = Scene(tmp_path, register, nemesis=BusyNemesis).run()
    assert scene.state.failures == []
    assert not scene.nemesis.standing
    injected = [
        event.time for event in scene.events if event.process == "nemesis" and event.value["action"] == "inject"
    ]
    assert max(injected) <= scene.state.moments["final-reads"]


# -- our own pace ------------------------------------------------------------------------------------------------------


def test_how_well_the_rate_was_kept_is_reported(whole: Scene) -> None:
    pace = whole.state.pace
    assert whole.state.path is not None
    assert RunState.read(whole.state.path).pace == pace
    main = [op for op in whole.operations if op.phase == "main"]
    moments = whole.state.moments
    seconds = (moments["main-end"] - moments["main"]) / 1e9
    assert pace["asked_per_s"] == PLAN.rate
    assert pace["invoked_per_s"] == pytest.approx(len(main) / seconds, rel=0.1)
    assert 0 <= pace["lag_p99_ms"] <= pace["lag_max_ms"]
    assert all(end - begin >= STANDSTILL_NS for begin, end in whole.state.standstills)


def test_a_loop_that_cannot_act_is_a_standstill_of_ours(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    perform, blocked = RegisterClient.perform, threading.Event()

    async def slow(client: RegisterClient, invocation: Any) -> Any:
        if "main" in scene.state.moments and not blocked.is_set():
            blocked.set()
            time.sleep(1.3)
        return await perform(client, invocation)

    scene = Scene(tmp_path, register)
    monkeypatch.setattr(RegisterClient, "perform", slow)
    scene.run()
    # A busy machine may stand still by itself, too.
    main = scene.state.moments["main"] - 100_000_000
    assert [span for span in scene.state.standstills if span[0] >= main and 1.0e9 <= span[1] - span[0] <= 3e9]
    assert scene.state.pace["lag_max_ms"] < 1000, "it is reported as a standstill, and not as lag"
    assert scene.state.moments["main-end"] - scene.state.moments["main"] >= 1.3e9, "the phase lasts its time of action"


def test_nothing_on_the_event_loop_waits_for_the_disk(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[bool] = []

    def on_the_loop(sync: Callable[[int], None]) -> Callable[[int], None]:
        def timed(fd: int) -> None:
            waited.append(asyncio._get_running_loop() is not None)
            sync(fd)

        return timed

    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, on_the_loop(getattr(os, name)))
    Scene(tmp_path, register).run()
    assert waited
    assert not any(waited)


def test_a_state_that_cannot_be_saved_is_a_failure_of_ours(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register)
    scene.state.path = tmp_path / "gone" / "run.json"
    scene.run()
    assert any("No such file" in failure for failure in scene.state.failures)
    assert not scene.nemesis.standing


# -- stop at the first violation --------------------------------------------------------------------------------------

WATCHED = replace(PLAN, keys=1, concurrency=2, time_limit=20.0, interval=0.05, stop_on_violation=True)


def test_the_first_violation_stops_a_watched_run_in_order(tmp_path: Path) -> None:
    with ToyRegister(forget_every=7) as register:
        scene = Scene(tmp_path, register, WATCHED).run()
    assert scene.state.failures == []
    assert scene.seconds < 15
    assert scene.state.stopped is not None
    assert scene.context.tally.invalid == scene.state.stopped
    assert scene.state.path is not None
    assert RunState.read(scene.state.path).stopped == scene.state.stopped
    assert scene.nemesis.standing is False
    assert list(scene.state.moments)[-1] == "healed"
    # The violation that it named is there, and before it there was none.
    found = int(scene.state.stopped.split(",")[0].removeprefix("event "))
    judged = {end: check_operations(pair(scene.events[:end]), "register").verdict for end in (found, found + 1)}
    assert judged == {found: "valid", found + 1: "invalid"}
    begun_later = [event for event in scene.client_events if event.index > found and event.type == "invoke"]
    assert len(begun_later) <= WATCHED.concurrency


def test_a_watched_run_without_a_violation_goes_to_its_end(tmp_path: Path, register: ToyRegister) -> None:
    scene = Scene(tmp_path, register, replace(SHORT, stop_on_violation=True)).run()
    assert scene.state.stopped is None
    assert "final-reads" in scene.state.moments
    assert scene.state.warnings == []


def test_a_monitor_that_fails_is_a_warning_and_the_run_goes_on(
    tmp_path: Path, register: ToyRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, event: Event) -> None:
        raise RuntimeError("no such zone")

    monkeypatch.setattr("checker.monitor.Monitor.feed", broken)
    scene = Scene(tmp_path, register, replace(SHORT, stop_on_violation=True)).run()
    assert "final-reads" in scene.state.moments
    assert scene.state.failures == []
    assert ["the monitor failed (RuntimeError: no such zone)" in warning for warning in scene.state.warnings] == [True]
