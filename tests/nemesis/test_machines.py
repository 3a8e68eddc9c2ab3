"""Power cuts, full disks and damage, on nodes that give scripted answers."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from harness.systems.dledger.processes import STORE_FILES
from harness.systems.node_scripts import KILL, START
from harness.testing import Recorder, world
from history import receipts_of
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Settings, Targets
from nemesis.core.roles import FIND, SIGNAL, STATES
from nemesis.faults import disks, power
from nemesis.faults.registry import find
from nemesis.schedule.runner import Runner
from nemesis.schedule.steps import Step
from tests.support.nemesis.machines import ready


def cut_kills(node_states):
    def cut(node, command):
        for one in node_states:
            node_states[one] = "" if one[0] == node else node_states[one]
        return ""

    return cut


FILE = {"bytes": 487, "sectors_of_512": 1, "first_byte": 512, "size": 999, "size_now": 999}
LOST = {"unsynced_pages": 2, "lost": {"data/0": FILE}}
KEPT = {"unsynced_pages": 0, "lost": {}}


def cut_world(writes="refused", witness="witness lost", mount="7:3 ext4 /dev/loop3 rw,noatime", lost=LOST):
    ctx, fault, targets = ready(
        "crash-random-nodes",
        {
            power._WRITE: lambda *_: writes,
            power._REMOUNT: lambda *_: witness,
            power._LOOK: lambda *_: mount,
            power._LOST: lambda node, _: json.dumps(lost(node) if callable(lost) else lost),
            "rm": lambda *_: "",
        },
    )
    ctx.nodes.answers[power._CUT] = cut_kills(ctx.nodes.states)
    return ctx, fault, targets


def test_a_power_cut_is_witnessed_by_what_the_system_lost():
    ctx, fault, targets = cut_world()
    fault.inject(ctx, targets)
    (_, cut) = ctx.nodes.sent[-1]
    assert cut.argv[3:] == (
        "/data", "/data/harness", "server", SIGNAL,
        ".harness-unsynced", "/data/harness/store", '["**"]', "/run/harness-cut.json", "1",
    )  # fmt: skip
    witness = fault.witness(ctx, targets)
    assert witness["writes_refused"] == list(targets.nodes)
    assert witness["lost"] == dict.fromkeys(targets.nodes, LOST["lost"])
    assert witness["lost_bytes"] == dict.fromkeys(targets.nodes, 487)
    assert "note" not in witness
    healed = fault.heal(ctx, targets)
    assert all(pid for pid in healed["pids_now"].values())


def test_a_power_cut_of_a_system_that_had_synced_everything_is_one_and_notes_that_nothing_was_lost():
    ctx, fault, _ = cut_world(lost=lambda node: LOST if node == "n2" else KEPT)
    targets = fault.plan(replace(ctx, wanted=Targets(("n1", "n2"))), random.Random(0))
    fault.inject(ctx, targets)
    witness = fault.witness(ctx, targets)
    assert witness["lost"] == {"n1": {}, "n2": LOST["lost"]}
    assert witness["lost_bytes"] == {"n1": 0, "n2": 487}
    assert "on n1:" in witness["note"]


def test_a_filesystem_that_kept_what_was_not_synced_was_not_cut():
    ctx, fault, targets = cut_world(witness="witness kept")
    fault.inject(ctx, targets)
    with pytest.raises(FaultError, match="still there"):
        fault.witness(ctx, targets)


def cut_shell(
    directory: Path, server_of_its_own: str = "", **how: Any
) -> tuple[subprocess.CompletedProcess[str], dict[int, str]]:
    """Cut under a server that a shell started, its ``xfs_io`` being a program of ours; the states of both afterwards.

    ``server_of_its_own`` is the word before the server's command.  ``how`` goes to the cut's own process.
    """
    home, store = directory / "home", directory / "store"
    store.mkdir()
    words = ["sh", "-c", f"{server_of_its_own} sleep 60 & echo $! >up; wait"]
    run_local(START, "start", home, "HARNESS_ROLE=n1/server", "server", *words)
    deadline = time.monotonic() + 60
    while not (home / "up").exists() or len(local_states(home)) < 2:
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.005)
    arguments = [directory / "data", home, "server", SIGNAL, "witness", store, '["**"]', directory / "report", "0"]
    environment = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}", "ITS_HOME": str(home)}
    try:
        done = subprocess.run(
            ["python3", "-c", power._CUT, *map(str, arguments)], env=environment, capture_output=True, text=True, **how
        )
        return done, local_states(home)
    finally:
        run_local(KILL, "kill", home, SIGNAL)


def run_local(script: str, *words: object) -> str:
    return subprocess.run(["sh", "-c", script, *map(str, words)], check=True, capture_output=True, text=True).stdout


def local_states(home: Path) -> dict[int, str]:
    return {int(pid): letter for pid, letter in map(str.split, run_local(STATES, home, "server").splitlines())}


def xfs_io(directory: Path, script: str) -> None:
    (directory / "data").mkdir()
    (directory / "xfs_io").write_text(f"#!/bin/sh\n{script}\n")
    (directory / "xfs_io").chmod(0o755)


@pytest.mark.parametrize("session", ["", "setsid"])
def test_a_power_cut_freezes_and_ends_all_that_the_process_started(tmp_path: Path, session: str) -> None:
    """Else it would answer from memory while the filesystem is gone, hold it, and outlive the cut."""
    (tmp_path / "look").write_text(STATES)
    xfs_io(tmp_path, f'sh -c "$(cat {tmp_path}/look)" "$ITS_HOME" server >{tmp_path}/frozen')
    done, states = cut_shell(tmp_path, session)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "frozen").read_text().split()[1::2] == ["T", "T"]
    assert states == {}


@pytest.mark.parametrize("script", [None, "exit 1", "kill -TERM $PPID; sleep 1"])
def test_a_power_cut_that_breaks_off_lets_the_process_go_on(tmp_path: Path, script: str | None) -> None:
    """No room for a file of ours; a filesystem that is not shut down; a command that was ended for taking too long."""
    if script is not None:
        xfs_io(tmp_path, script)
    done, states = cut_shell(tmp_path)
    assert done.returncode != 0
    assert len(states) == 2
    assert "T" not in states.values()


def test_a_process_that_a_broken_cut_left_frozen_goes_on_when_healed():
    """It would seem to be back: it runs, and the kernel accepts connections for it."""
    ctx, fault, targets = cut_world(writes="writable")
    (pids,) = [targets.detail["pids"]]
    ctx.nodes.states.update(dict.fromkeys(pids.items(), "T"))
    assert fault.heal(ctx, targets)["pids_now"] == pids
    assert {ctx.nodes.states[one] for one in pids.items()} == {"S"}


def test_a_process_that_outlived_the_cut_is_ended_before_its_filesystem_is_mounted_anew():
    ctx, fault, targets = cut_world()
    pids = targets.detail["pids"]
    ctx.nodes.states.update(dict.fromkeys(pids.items(), "T"))
    healed = fault.heal(ctx, targets)["pids_now"]
    assert all(healed[node] != pid for node, pid in pids.items())


def test_what_was_lost_is_reported_by_file(tmp_path):
    """The two programs on a directory: a sector changed, a file cut short, one gone, one whole."""
    report, store = tmp_path / "report", tmp_path / "store"
    store.mkdir()
    for name in ("whole", "changed", "short", "gone"):
        (store / name).write_bytes(bytes(range(256)) * 8 + bytes(4096))
    program = power._CUT[: power._CUT.index("    open(os.path.join(data, witness)")] + "cut()"
    arguments = [tmp_path, tmp_path / "home", "server", "exit 0", "witness", store, '["**"]', report, "0"]
    subprocess.run(["python3", "-c", program, *map(str, arguments)], check=True)
    with (store / "changed").open("r+b") as file:
        file.seek(1024)
        file.write(bytes(512))
    os.truncate(store / "short", 6000)
    (store / "gone").unlink()
    done = subprocess.run(
        ["python3", "-c", power._LOST, str(store), str(report)], check=True, capture_output=True, text=True
    )
    assert json.loads(done.stdout)["lost"] == {
        "changed": {"bytes": 512, "sectors_of_512": 1, "first_byte": 1024, "size": 6144, "size_now": 6144},
        "short": {"bytes": 144, "sectors_of_512": 0, "first_byte": 6000, "size": 6144, "size_now": 6000},
        "gone": {"bytes": 6144, "sectors_of_512": 4, "first_byte": 0, "size": 6144, "size_now": None},
    }


def test_a_failing_disk_leaves_the_process_and_is_healed_by_a_new_one():
    ctx, fault, targets = ready(
        "disk-error",
        {
            power._WRITE: lambda *_: "refused",
            power._REMOUNT: lambda *_: "witness lost",
            "shutdown -f": lambda *_: "",
            "rm": lambda *_: "",
        },
    )
    fault.inject(ctx, targets)
    seen = fault.witness(ctx, targets)
    assert set(seen["process"].values()) == {"S"}
    assert seen["writer"].startswith("ours, ")
    healed = fault.heal(ctx, targets)["pids_now"]
    assert all(healed[node] != pid for node, pid in targets.detail["pids"].items())


def test_a_process_whose_pid_cannot_be_read_from_the_failed_disk_is_ended_all_the_same():
    ctx, fault, targets = ready(
        "disk-error", {power._WRITE: lambda *_: "refused", "shutdown -f": lambda *_: "", "rm": lambda *_: ""}
    )
    system, reported = ctx.system, ctx.system.pids
    system.pids = lambda nodes: dict.fromkeys(nodes)

    def remount(node, command):
        assert not ctx.nodes.states[node, targets.detail["pids"][node]], "umount: target is busy"
        system.pids = reported
        return "witness lost"

    ctx.nodes.answers[power._REMOUNT] = remount
    fault.inject(ctx, targets)
    healed = fault.heal(ctx, targets)["pids_now"]
    assert all(healed[node] != pid for node, pid in targets.detail["pids"].items())


def test_a_disk_that_still_takes_writes_was_not_cut():
    ctx, fault, targets = cut_world(writes="writable")
    fault.inject(ctx, targets)
    with pytest.raises(FaultError, match="can still be written to"):
        fault.witness(ctx, targets)


def test_the_process_is_frozen_before_and_killed_after_the_cut():
    steps = ['send("STOP")', "pages = unsynced()", "open(os.path.join(data, witness)", '"shutdown"', 'send("KILL")']
    places = [power._CUT.index(step) for step in steps]
    assert places == sorted(places)
    assert "shutdown -f" not in power._CUT


@pytest.mark.parametrize(
    ("mount", "why"),
    [("", "no XFS or ext4"), ("0:5 tmpfs data rw", "no XFS or ext4"), ("8:1 ext4 /dev/sda1 rw", "cut_real_disks")],
)
def test_what_cannot_or_must_not_be_cut_is_refused(mount, why):
    ctx, fault, _ = cut_world(mount=mount)
    assert why in fault.precheck(ctx)


def test_a_loop_mounted_filesystem_may_be_cut_and_a_real_one_when_allowed():
    ctx, fault, _ = cut_world()
    assert fault.precheck(ctx) is None
    ctx, fault, _ = cut_world(mount="8:1 xfs /dev/sda1 rw")
    assert fault.precheck(replace(ctx, settings=Settings(options={"cut_real_disks": 1}))) is None


@pytest.mark.parametrize("answer", ["written", "Input/output error"])
def test_a_disk_is_full_only_when_a_write_is_answered_so(answer):
    ctx, fault, targets = ready("disk-full", {disks._FILL: lambda *_: "", disks._TRY: lambda *_: answer})
    fault.inject(ctx, targets)
    with pytest.raises(FaultError, match="64 KiB"):
        fault.witness(ctx, targets)


def test_a_full_disk_is_witnessed_and_must_take_writes_again_when_healed():
    answers = {disks._FILL: lambda *_: "", disks._FREE: lambda *_: "", disks._TRY: lambda *_: "No space left"}
    ctx, fault, targets = ready("disk-full", answers)
    fault.inject(ctx, targets)
    seen = fault.witness(ctx, targets)
    assert set(seen["writes_answered"].values()) == {"No space left"}
    assert seen["writer"].startswith("ours, ")
    with pytest.raises(FaultError, match="still"):
        fault.heal(ctx, targets)
    answers[disks._TRY] = lambda *_: "written"
    assert fault.heal(ctx, targets)["pids_now"]


@pytest.mark.parametrize(("now", "stands"), [("b", True), ("a", False)])
def test_damage_is_witnessed_by_the_files_digest(now, stands):
    done = json.dumps({"file": "/x", "before": "a", "after": "b", "now": now})
    ctx, fault, targets = ready("file-bitflip", {disks._DAMAGE: lambda *_: "", disks._INSPECT: lambda *_: done})
    fault.inject(ctx, targets)
    if stands:
        assert fault.witness(ctx, targets)["damaged"][targets.nodes[0]]["file"] == "/x"
    else:
        with pytest.raises(FaultError, match="unchanged"):
            fault.witness(ctx, targets)


CLASSES = {"data": ["d/*"], "snapshot": ["s/*"], "term": ["term"]}


def damage(store, kind, seed, *, amount=5, weights=None):
    weights = weights or {"data": 6, "snapshot": 3, "term": 0}
    report = store.parent / "report"
    arguments = [str(store), kind, str(amount), str(seed), str(report), json.dumps(CLASSES), json.dumps(weights)]
    run_here(disks._DAMAGE, *arguments)
    return json.loads(report.read_text())


def run_here(program, *arguments):
    """A program for a node, in this process: starting an interpreter takes longer than what it does."""
    with mock.patch.object(sys, "argv", ["-c", *arguments]):
        exec(compile(program, "program", "exec"), {"__name__": "__main__"})


def fill(store):
    """A store like the library's: segments with zeros behind, copies that are not read, a term."""
    for directory in (store / "d", store / "s"):
        directory.mkdir(parents=True)
    (store / "d" / "0").write_bytes(bytes(range(1, 201)) + bytes(5000))
    (store / "d" / "1").write_bytes(bytes(range(1, 101)) + bytes(5000))
    (store / "d" / "2").write_bytes(bytes(5000))
    (store / "s" / "data").write_bytes(b"snapshot")
    (store / "s" / "empty").touch()
    for name in ("term", "term.bak", "lock"):
        (store / name).write_bytes(b"7")


@pytest.mark.parametrize("kind", ["truncate", "bitflip"])
def test_the_damage_program_hits_content_and_repeats_under_its_seed(kind, tmp_path):
    reports = []
    for attempt in range(2):
        store = tmp_path / str(attempt) / "store"
        fill(store)
        done = damage(store, kind, 7, weights={"data": 1})
        assert done["class"] == "data"
        reports.append({**done, "file": Path(done["file"]).name})
        now, used = Path(done["file"]).read_bytes(), done["used"]
        assert used in (200, 100)
        assert done["before"] != done["after"]
        assert 0 <= done["bytes"][0] < done["bytes"][1] <= used
        before = bytes(range(1, used + 1)) + bytes(5000)
        if kind == "truncate":
            assert now == before[: used - 5]
            assert (done["bytes"], done["destroyed_bytes"]) == ([used - 5, used], 5)
            assert done["tail"] == (Path(done["file"]).name == "1")
        else:
            assert len(now) == used + 5000
            changed = [n for n, (a, b) in enumerate(zip(now, before, strict=True)) if a != b]
            assert sorted({bit // 8 for bit in done["bits"]}) == changed
            assert done["destroyed_bytes"] == len(changed)
    assert reports[0] == reports[1]


def test_an_older_snapshot_is_never_read_and_is_not_damaged(tmp_path):
    store, report = tmp_path / "store", tmp_path / "report"
    for number in (1000, 200):
        (store / f"s_{number}").mkdir(parents=True)
        (store / f"s_{number}" / "data").write_bytes(b"snapshot")
        os.utime(store / f"s_{number}" / "data", (number, number))
    for seed in range(6):
        arguments = [str(store), "bitflip", "1", str(seed), str(report), '{"snapshot": ["s_*/*"]}', '{"snapshot": 1}']
        os.utime(store / "s_1000" / "data", (1000, 1000))
        run_here(disks._DAMAGE, *arguments)
        assert json.loads(report.read_text())["file"] == str(store / "s_1000" / "data")


def test_classes_are_drawn_by_weight_and_what_is_not_read_is_never_hit(tmp_path):
    classes, files = Counter[str](), set[str]()
    for seed in range(60):
        store = tmp_path / str(seed) / "store"
        fill(store)
        done = damage(store, "bitflip", seed)
        classes[done["class"]] += 1
        files.add(str(Path(done["file"]).relative_to(store)))
    assert files == {"d/0", "d/1", "s/data"}
    assert 28 <= classes["data"] <= 52  # of 60, six in nine


def test_the_term_is_damaged_only_when_the_plan_asks_for_it(tmp_path):
    ctx, fault, _ = ready("file-bitflip", {})
    files = {"data": ("d/*",), "term": ("term",)}
    ctx = replace(ctx, settings=Settings(store_files=files))
    assert disks.weights(ctx) == {"data": 6, "term": 0}
    asked = replace(ctx, settings=Settings(store_files=files, options={"damage_data": 0, "damage_term": 1}))
    assert disks.weights(asked) == {"data": 0, "term": 1}
    store = tmp_path / "store"
    fill(store)
    assert damage(store, "bitflip", 1, weights=disks.weights(asked))["class"] == "term"
    nothing = replace(ctx, settings=Settings(store_files=files, options={"damage_data": 0}))
    assert "every weight" in fault.precheck(nothing)


def test_a_class_without_content_is_left_out_and_a_store_without_any_is_doubt(tmp_path):
    store = tmp_path / "store"
    (store / "d").mkdir(parents=True)
    (store / "d" / "0").write_bytes(bytes(100))
    with pytest.raises(SystemExit, match="no file with content"):
        damage(store, "truncate", 1)
    (store / "s").mkdir()
    (store / "s" / "data").write_bytes(b"snapshot")
    assert {damage(store, "bitflip", seed)["class"] for seed in range(5)} == {"snapshot"}


def test_damage_hits_one_node_of_a_majority_that_stays():
    for seed in range(20):
        ctx, *_ = world()
        ctx = replace(ctx, busy=frozenset({"n1", "n2"}))
        with pytest.raises(Exception, match="no node is left"):
            find("file-truncate").plan(ctx, random.Random(seed))


def test_the_damaged_nodes_of_a_whole_run_are_a_minority_unless_the_plan_says_otherwise():
    ctx, *_ = world()
    fault, hit = find("file-truncate"), frozenset({"n2", "n4"})
    ctx = replace(ctx, damaged=hit)
    assert {fault.plan(ctx, random.Random(seed)).nodes[0] for seed in range(30)} == hit
    with pytest.raises(SkippedError, match="more than a minority"):
        fault.plan(replace(ctx, wanted=Targets(("n1",))), random.Random(0))
    assert fault.plan(replace(ctx, wanted=Targets(("n4",))), random.Random(0)).nodes == ("n4",)
    allowed = replace(ctx, settings=Settings(beyond_quorum=True))
    assert len({fault.plan(allowed, random.Random(seed)).nodes[0] for seed in range(60)}) == 5


def test_a_run_keeps_in_mind_whose_files_were_damaged():
    """Also where it is in doubt: the second of two faults after that hits no third node."""
    ctx, fault, _ = ready("file-bitflip", {disks._DAMAGE: lambda *_: "", "rm": lambda *_: ""})
    record, steps = Recorder(ctx.clock), []
    for number in range(8):
        steps += [Step(2 * number + 1, "inject", fault.name, number), Step(2 * number + 2, "heal", fault.name, number)]
    Runner(ctx, steps, record, random.Random(5)).run(threading.Event())
    receipts = receipts_of(record.events)
    assert {receipt.state for receipt in receipts} == {"indeterminate"}  # no node answers for the file's digest
    assert len({node for receipt in receipts for node in receipt.nodes}) == 2


def test_the_classes_of_the_librarys_store_leave_out_what_it_never_reads(tmp_path):
    """The layout of DLedger: what is damaged in it must be able to bite."""
    store = tmp_path / "store"
    names = {
        "data": ["data/00000000000000000000", "data/00000000000016777216"],
        "index": ["index/00000000000000000000"],
        "snapshot": ["snapshot/snapshot_2000/data", "snapshot/snapshot_2000/snapshot_meta"],
        "term": ["currterm"],
        "": ["currterm.bak", "checkpoint", "checkpoint.bak", "lock", "snapshot/tmp/data"],
    }
    for name in (name for group in names.values() for name in group):
        path = store / "dledger-n1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"content")
    for kind, patterns in STORE_FILES.items():
        found = {str(path.relative_to(store / "dledger-n1")) for one in patterns for path in store.glob(one)}
        assert found == set(names[kind])


@pytest.mark.parametrize("name", ["plain", "a\nb", "x) S 1\n", "\n) R 1 (", ") Z 1 "])
def test_a_process_has_its_state_whatever_name_it_gave_itself(tmp_path: Path, name: str) -> None:
    """In ``/proc/PID/stat`` the name stands before the state, as it is."""
    renamed = f"open('/proc/self/comm', 'w').write({name!r}); print(flush=True); input()"
    environment = {"PATH": os.environ["PATH"], "HARNESS_HOME": str(tmp_path), "HARNESS_ROLE": "n1/server"}
    with subprocess.Popen(
        [sys.executable, "-c", renamed], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        started = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].split()[19]
        state, since = run_local(FIND + 'state_of "$0"', process.pid).split()
        assert (state in "RS", since) == (True, started)
        assert run_local(FIND + 'traced "$0" server', tmp_path).split() == [str(process.pid)]
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert run_local(FIND + 'state_of "$0"', process.pid).split()[0] == "T"
        process.send_signal(signal.SIGCONT)
        process.stdin.close()
    assert run_local(FIND + 'state_of "$0" || echo none', process.pid) == "none\n"
    assert run_local(FIND + 'traced "$0" server', tmp_path) == ""
