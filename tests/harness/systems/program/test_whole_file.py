"""A file with every key: each can be read, planned with and run; and what a system may declare, a file may, too."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from harness.errors import UsageError
from harness.plan import Plan, validate
from harness.systems.api import Alarm, Machine, Option, PlantedBug, Role, Surface, System
from harness.systems.program import file_type
from harness.systems.program.file_type import SystemFile
from harness.systems.promise import Promise
from harness.systems.registry import find_system
from history.records.log_words import LogWords

ROOT = Path(__file__).resolve().parents[4]
WHOLE = ROOT / "tests" / "support" / "harness" / "whole.toml"
NODES = tuple(Machine(f"n{number}", f"10.0.0.{number}") for number in (1, 2, 3))

#: What a system may declare and a file may not, and why.  All but a few are functions of a setup or of what was
#: recorded; a file says what their results are made of, or stands for a system that needs none of its own.
LEFT_OUT: Mapping[type, Mapping[str, str]] = {
    System: {
        "law": "one for all client programs: what their answers prove",
        "refuse": "a function: of a file, it says which nodes and programs are missing",
        "artifacts": "a function: of a file, its files",
        "surface": "a function: of a file, its faults",
        "clients": "a function: of a file, its client",
        "prober": "a function: of a file, its probe",
        "leads": "a function: a file's roles say when they are ready",
        "describe": "a function of facts about the nodes",
        "recovered": "a function of the probes: figures under our names decide",
        "invariants": "functions of all that was recorded",
    },
    Option: {"name": "its key"},
    PlantedBug: {"name": "its key"},
    Surface: {
        "store": "the data directory of the role",
        "transfer_leader": "a function, which speaks to the server",
        "promote": "a function, which speaks to the servers",
    },
    Role: {"node": "nodes, as one table is for several", "data": "{data}, one for each role"},
    Alarm: {},
    Promise: {},
    LogWords: {},
}
#: The table of a file for each declaration; of a workload it has the name.
TABLES = {
    System: SystemFile, Option: file_type.OptionTable, PlantedBug: file_type.PlantedBugTable,
    Surface: file_type.FaultsTable,
    Role: file_type.RoleTable, Alarm: file_type.AlarmTable, Promise: file_type.PromiseTable,
    LogWords: file_type.LogWordsTable,
}  # fmt: skip


@pytest.mark.parametrize("declared", TABLES, ids=lambda one: one.__name__)
def test_what_a_system_may_declare_a_file_may_too(declared: Any) -> None:
    of_a_system = {one.name for one in dataclasses.fields(declared)}
    of_a_file = set(TABLES[declared].__struct_fields__)
    assert of_a_system - of_a_file == set(LEFT_OUT[declared]), "declare it in a file, or say here why not"


def _structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for inner in get_args(kind):
        yield from _structs(inner)


def _unused(kind: type[msgspec.Struct], tables: list[Any], place: str) -> Iterator[str]:
    """The fields of a type, and of the types in it, that none of these tables has."""
    for name, hint in get_type_hints(kind).items():
        values = [table[name] for table in tables if isinstance(table, dict) and name in table]
        if not values:
            yield f"{place}{name}"
        for inner in _structs(hint):
            flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
            keyed = getattr(hint, "__origin__", None) is dict
            flat = [one for value in flat for one in value.values()] if keyed else flat
            yield from _unused(inner, flat, f"{place}{name}.")


def test_the_file_has_every_key() -> None:
    assert list(_unused(SystemFile, [tomllib.loads(WHOLE.read_text())], "")) == []


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    for path in (*(ROOT / "examples" / "kv").iterdir(), WHOLE):
        if path.is_file():
            shutil.copy(path, tmp_path)
    return tmp_path / "whole.toml"


def plan_of(file: Path, **changes: Any) -> Plan:
    return Plan(seed=1, system=str(file), nodes=3, nemesis=("kill-all",), **changes)


def test_it_is_planned_with(whole: Path) -> None:
    plan = validate(plan_of(whole, options={"window": 4, "share": 0.25, "mode": "async"}))
    assert (plan.label, plan.version, plan.workload) == ("whole 2 mode async", "2", "register")
    assert Plan.from_json(plan.to_json()) == plan
    assert {"--window 4", "--share 0.25", "--mode async"} <= {f"{a} {b}" for a, b in _pairs(plan.command().split())}
    planted_bug = validate(plan_of(whole, planted_bug="backup-reads", unsafe_test_mode=True))
    assert planted_bug.found_by == ("linearizable",)


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    return itertools.pairwise(words)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"window": 0}, "--window must be a whole number from 1 to 64, not 0"),
        ({"window": 65}, "--window must be a whole number from 1 to 64, not 65: nothing waits longer"),
        ({"window": 4.5}, "--window must be a whole number from 1 to 64, not 4.5"),
        ({"share": 1.5}, "--share must be a number from 0 to 1, not 1.5"),
        ({"mode": "never"}, "--mode must be one of"),
    ],
)
def test_bounds_of_options_are_kept(whole: Path, options: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        validate(plan_of(whole, options=options))
    assert why.partition(":")[0] in str(refused.value)


@pytest.mark.parametrize(("least", "most", "fits"), [("0.5", "2.5", (1, 2)), ("-1.0", "3", (-1, 3))])
def test_bounds_of_a_whole_number_need_not_be_whole(whole: Path, least: str, most: str, fits: tuple[int, int]) -> None:
    text = whole.read_text().replace(
        "default = 8\nleast = 1\nmost = 64", f"default = 1\nleast = {least}\nmost = {most}"
    )
    whole.write_text(text)
    for value in fits:
        validate(plan_of(whole, options={"window": value}))
    for value in (fits[0] - 1, fits[1] + 1):
        with pytest.raises(UsageError):
            validate(plan_of(whole, options={"window": value}))


def test_its_commands_and_files_are_filled_in(whole: Path) -> None:
    plan = plan_of(whole)
    system, setup = plan.under_test, plan.setup(NODES)
    roles = {(role.node, role.name): role for role in system.roles(setup)}
    assert sorted(roles) == [
        ("n1", "format"), ("n1", "server"), ("n2", "monitor"), ("n2", "server"), ("n3", "proxy"), ("n3", "server"),
    ]  # fmt: skip
    server, task, proxy = roles["n1", "server"], roles["n1", "format"], roles["n3", "proxy"]
    assert server.command[-3:] == ("--replication", "sync", "--bug=")
    assert (server.environment, server.data, server.stage) == ({"COPY_EVERY_MS": "8"}, ("data/server",), 0)
    assert (task.task, task.ready) == (True, None)
    assert (
        task.command[2] == "mkdir -p /data/harness/data/format && echo version 2 >/data/harness/data/format/formatted"
    )
    peers = "10.0.0.3"
    assert (proxy.files, proxy.keep, proxy.stage) == (
        {"etc/proxy.conf": f"backends {peers}\nwindow 8\n"}, ("etc/*.conf",), 1,
    )  # fmt: skip
    assert [client.home for client in system.clients(setup, 4)] == ["n1", "n2", "n3", "n1"]


def test_what_it_declares_is_the_system_s(whole: Path) -> None:
    plan = plan_of(whole)
    system = plan.under_test
    surface = system.surface(plan.setup(NODES))
    assert surface == Surface(
        peer_ports=(7000,), client_port=7000, role="server", members=("server",), store="data/server",
        store_files={"data": ("copy.json",), "index": ("*.index",)}, clock=True, notices_s=3.0,
        refused={"isolate-until-snapshot": "it keeps no log"},
    )  # fmt: skip
    assert (system.title, system.may_refuse, system.every_node_serves) == ("Whole", frozenset({"data"}), True)
    assert system.index_unit == "changes"
    assert system.alarms == (
        Alarm(pattern="cannot save", meaning="the server could not write its copy, and ended", follows="harness",
              unless="No space left", wanted_by=("disk-error",)),
    )  # fmt: skip
    assert system.log_words == LogWords("heartbeat", "listens on", "copies to")
    assert system.promises[1] == Promise(
        "reads and writes are linearizable", ("read", "write"), "server.py", ("linearizable",), ("stale-read",)
    )


WRONG = [
    ('may_refuse = ["data"]', 'may_refuse = ["term"]', "may_refuse: faults.store_files lists no files of the cl"),
    ('role = "server"', 'role = "sever"', "faults.role: there is no role 'sever'; did you mean server"),
    ("[probe]\ncommand", "[options.probe]\ndefault", "faults.clock: only a probe that reports clock_ms can show"),
    ('"disk-error"', '"disk-eror"', r"alarms\[0\].wanted_by: there is no nemesis 'disk-eror'; did you mean disk-error"),
    ('noise = "heartbeat"', 'noise = "("', "log_words: noise is not a regular expression"),
    ("most = 64", "most = inf", r"options.window.* numbers, not inf"),
    ("window {window}", "window {windw}", r"roles\[2\].files.etc/proxy.conf: .*there is no placeholder {windw}"),
    ('"etc/proxy.conf"', '"/etc/proxy.conf"', r"roles\[2\]: '/etc/proxy.conf' must be a path below {home}"),
    ('keep = ["etc/', 'keep = ["../', r"roles\[2\]: '../\*.conf' must be a path below {home}"),
    ("task = true", "task = true\nready = { port = 1 }", r"roles\[1\].ready: a task is done when its command ends"),
    ('ready = { port = 7000 }', 'task = true', r"roles\[0\] is a task: list the serving role first"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "why"), WRONG, ids=[why[:30] for *_, why in WRONG])
def test_what_is_wrong_is_reported_with_its_place(whole: Path, right: str, wrong: str, why: str) -> None:
    assert right in whole.read_text()
    whole.write_text(whole.read_text().replace(right, wrong))
    with pytest.raises(UsageError, match=why):
        find_system(str(whole))
