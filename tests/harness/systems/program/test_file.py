"""The file of a system: what may stand in it, what is said of what may not, and the system that comes of it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest

from harness.errors import UsageError
from harness.systems.api import Machine, Setup, System
from harness.systems.artifacts import on_node
from harness.systems.program.file_type import OF_A_CLIENT, OF_A_NODE, OF_A_PEER, CheckName, read_system_file
from harness.systems.program.system import system_of
from harness.systems.registry import find_system

ROOT = Path(__file__).resolve().parents[4]
NODES = tuple(Machine(f"n{number}", f"10.0.0.{number}") for number in (1, 2, 3))
FILE = """
files = ["server.sh"]
[[roles]]
command = "./server.sh --id {index} --peers {peers} --others {others} --data {data} --mode {mode} {files} {version}"
peer = "{node}@{address}:70"
port = 70
[client]
command = "client {peers} {node} {address}"
[options.mode]
default = "safe"
choices = ["safe", "quick"]
[options.sync]
default = true
"""


def written(directory: Path, text: str = FILE) -> Path:
    (directory / "server.sh").write_text("#!/bin/sh\n")
    path = directory / "my-store.toml"
    path.write_text(text)
    return path


def setup_of(system: System, **options: Any) -> Setup:
    defaults = {option.name: option.default for option in system.options}
    return Setup(version=system.versions[0], options={**defaults, **options}, nodes=NODES, client_timeout=2.0)


def test_what_is_left_out_has_a_value(tmp_path: Path) -> None:
    system = system_of(written(tmp_path))
    assert (system.name, system.versions) == ("my-store", ("local",))
    assert [workload.name for workload in system.workloads] == ["register"]
    assert [(one.name, one.default, one.choices) for one in system.options] == [
        ("mode", "safe", ("safe", "quick")), ("sync", True, ()),
    ]  # fmt: skip
    assert system.prober is None


def test_a_role_is_a_process_on_every_node(tmp_path: Path) -> None:
    system = system_of(written(tmp_path))
    setup = setup_of(system, mode="quick")
    roles = system.roles(setup)
    assert [(role.node, role.name, role.data) for role in roles] == [
        (node.name, "server", ("data/server",)) for node in NODES
    ]
    peers = ["n1@10.0.0.1:70", "n2@10.0.0.2:70", "n3@10.0.0.3:70"]
    files = on_node(NODES[1], system.artifacts(setup)[0])
    assert roles[1].command == (
        "./server.sh", "--id", "2", "--peers", ",".join(peers), "--others", f"{peers[0]},{peers[2]}",
        "--data", "/data/harness/data/server", "--mode", "quick", files, "local",
    )  # fmt: skip
    assert roles[0].ready is not None
    surface = system.surface(setup)
    assert (surface.peer_ports, surface.client_port, surface.store) == ((70,), 70, "data/server")
    assert list(system.roles(Setup(version="local"))) == []


def test_some_roles_are_on_some_nodes(tmp_path: Path) -> None:
    more = '[[roles]]\nname = "gateway"\nnodes = ["n2", "n3"]\nstage = 1\ncommand = "gw {index} {peers} {data}"\n'
    system = system_of(written(tmp_path, FILE.replace("[client]", more + "[client]")))
    gateways = [role for role in system.roles(setup_of(system)) if role.name == "gateway"]
    assert [(role.node, role.stage, role.command) for role in gateways] == [
        ("n2", 1, ("gw", "1", "10.0.0.2,10.0.0.3", "/data/harness/data/gateway")),
        ("n3", 1, ("gw", "2", "10.0.0.2,10.0.0.3", "/data/harness/data/gateway")),
    ]
    assert gateways[0].ready is None


def test_workers_take_turns_at_the_nodes(tmp_path: Path) -> None:
    system = system_of(written(tmp_path))
    assert [client.home for client in system.clients(setup_of(system), 5)] == ["n1", "n2", "n3", "n1", "n2"]


def test_an_example_is_right() -> None:
    system = system_of(ROOT / "examples/kv/kv.toml")
    setup = setup_of(system)
    assert system.name == "kv"
    assert system.roles(setup)[0].command[-2:] == ("sync", "--bug=")


WRONG = [
    ("", "roles is missing"),
    ("nmae = 'x'\n" + FILE, "there is no key 'nmae'; did you mean name"),
    ("name = 'My store'\n" + FILE, "name must be lowercase letters, digits and -, beginning with a letter, such as"),
    ("workloads = ['regster']\n" + FILE, r"workloads\[0\] must be one of 'append-log', .*'set', not 'regster'"),
    (FILE.replace("port = 70\n", ""), r"roles\[0\].port is missing: without it, or faults.peer_ports and client_port,"),
    (FILE.replace("port = 70", "port = 0"), r"roles\[0\].port must be a whole number from 1 to 65535, not 0"),
    (FILE.replace("{index}", "{indx}"), r"roles\[0\].command: '{indx}': there is no placeholder {indx}; did you mean"),
    (FILE.replace("{node}@", "{nod}@"), r"roles\[0\].peer: .*there is no placeholder {nod}; did you mean node"),
    (FILE.replace("client {peers}", "client {data}"), r"client.command: '{data}': there is no placeholder {data}"),
    (FILE.replace("[client]\ncommand = ", '[client]\nprocesses = "one"\ncommand = '), "there is no placeholder {node}"),
    (FILE.replace("client {peers}", "'"), "client.command: No closing quotation"),
    (FILE.replace('default = "safe"', 'default = "sfe"'), "options.mode.default must be one of its choices, not 'sfe'"),
    (FILE.replace("options.mode", "options.data"), "options.data has the name of a placeholder: choose another"),
    (FILE.replace("true", "true\nleast = 1"), "options.sync has bounds, so its default must be a number, not True"),
    (FILE.replace("true", "3\nmost = 2"), "options.sync.default is not within its bounds: 3"),
    (FILE.replace("port = 70", "port = 70\nready = {port = 1, log = 'x'}"), r"roles\[0\].ready must be one of port, c"),
    (FILE.replace("[client]", '[[roles]]\ncommand = "x"\n[client]'), "more than one of the roles has the name server"),
    (FILE.replace('["server.sh"]', '["server.sh", "old/server.sh"]'), r"files\[1\]: old/server.sh and server.sh wo"),
    (FILE.replace("port = 70", "port = 70\nready = {}"), r"roles\[0\].ready must be one of port, .*, not empty"),
    ("name = 'dledger'\n" + FILE, "name: an installed system is called dledger; choose another name"),
    ("workloads = ['set', 'set']\n" + FILE, "workloads: set appears twice"),
    (FILE + "[faults.refused]\nkil-leader = 'x'", "faults.refused: there is no nemesis 'kil-leader'; did you mean kil"),
    (FILE + "[planted_bugs.a]\nhelp = 'x'\nfound_by = ['nope']", r"found_by\[0\] must be one of .*'linearizable', .*"),
    (FILE + "[planted_bugs.a]\nhelp = 'x'\noptions = {mod = 1}", "planted_bugs.a.options: there is no option 'mod'"),
    (FILE.replace('["safe", "quick"]', "[1, 2]"), r"options\.mode\.choices\[0\] must be a string, not 1"),
    (FILE.replace("default = true", "default = [1]"), r"options\.sync\.default must be true or false or .*, not \[1\]"),
    (FILE.replace("options.sync", 'options."a b"'), "options must have names of lowercase letters, .*, not 'a b'"),
    (FILE + "[planted_bugs.'a b']\nhelp = 'x'", "planted_bugs must have names of lowercase letters, .*, not 'a b'"),
    (FILE.replace("default = true", "help = 'x'"), r"options\.sync\.default is missing: it must be true or false or a"),
    ("{", "it is JSON, not TOML|not TOML"),
]  # fmt: skip


def test_a_file_is_found_where_a_name_is(tmp_path: Path) -> None:
    assert find_system(str(written(tmp_path))).name == "my-store"
    with pytest.raises(UsageError, match=r"--system no\.toml: cannot be read"):
        find_system("no.toml")


def test_a_file_for_the_nodes_that_is_not_there_is_missed_before_a_run(tmp_path: Path) -> None:
    """A run that is judged again needs none of them."""
    system = find_system(str(written(tmp_path, FILE.replace('server.sh"]', 'sever.sh"]'))))
    assert re.search(r"files\[0\]: there is no file .*sever\.sh", system.refuse(setup_of(system)) or "")


@pytest.mark.parametrize(("text", "why"), WRONG)
def test_what_is_wrong_is_reported_with_its_place(tmp_path: Path, text: str, why: str) -> None:
    path = written(tmp_path, text)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "server.sh").touch()
    with pytest.raises(UsageError, match=why) as caught:
        find_system(str(path))
    assert str(caught.value).startswith(f"--system {path}: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--system .*x.toml: cannot be read: No such file"):
        read_system_file(tmp_path / "x.toml")


def test_the_docstring_shows_a_file_that_can_be_read() -> None:
    from harness.systems.program import file_type

    shown = (file_type.__doc__ or "").split("::\n")[1].split("The page")[0]
    assert tomllib.loads(shown)["options"]["replication"]["choices"] == ["async", "sync"]


PAGE = (ROOT / "docs/any-program.md").read_text()


def test_the_page_shows_the_example() -> None:
    [shown] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.M | re.S)
    assert tomllib.loads(shown) == tomllib.loads((ROOT / "examples/kv/kv.toml").read_text())


def test_the_page_names_every_key_and_every_placeholder() -> None:
    schema = json.loads((ROOT / "schemas/system.schema.json").read_text())["$defs"]
    keys = {key for table in schema.values() for key in table.get("properties", ())}
    missing = {key for key in keys if not re.search(rf"`{key}\b|\b{key}`|\b{key} = ", PAGE)}
    assert missing == set()
    assert {name for name in (*OF_A_NODE, *OF_A_CLIENT, *OF_A_PEER) if f"`{{{name}}}`" not in PAGE} == set()


PLANTED_BUG = """
[planted_bugs.late]
help = "it answers too late"
[planted_bugs.early]
help = "it answers too early"
found_by = ["replicas-agree"]
options = {mode = "quick"}
"""


def test_a_planted_bug_reaches_the_commands_by_its_name(tmp_path: Path) -> None:
    system = system_of(written(tmp_path, FILE.replace("{version}", "--bug={planted_bug}") + PLANTED_BUG))
    assert {bug.name: (bug.found_by, bug.options) for bug in system.planted_bugs} == {
        "late": (("linearizable",), {}), "early": (("replicas-agree",), {"mode": "quick"}),
    }  # fmt: skip
    options = {option.name: option.default for option in system.options}
    for planted_bug in ("", "late"):
        setup = Setup(version="local", options=options, planted_bug=planted_bug, nodes=NODES, client_timeout=1.0)
        assert {role.command[-1] for role in system.roles(setup)} == {f"--bug={planted_bug}"}


def test_an_option_may_mark_its_runs(tmp_path: Path) -> None:
    system = system_of(written(tmp_path, FILE.replace('choices = ["safe", "quick"]', "marks_runs = true")))
    assert [option.name for option in system.options if option.marks_runs] == ["mode"]


def test_the_checks_that_find_a_planted_bug_are_checks_of_the_judge() -> None:
    judge = "".join(
        path.read_text() for part in ("judge", "workloads") for path in (ROOT / "harness" / part).glob("*.py")
    )
    assert [name for name in get_args(CheckName) if f'"{name}"' not in judge] == []


def test_a_program_that_is_not_here_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    (tmp_path / "client").write_text("#!/bin/sh\n")
    for command, why in (
        ("./nope", f"client.command: {tmp_path}/nope is not on this machine"),
        ("no-such-program", "client.command: no-such-program is not on this machine"),
        ("./client", f"client.command: {tmp_path}/client cannot be executed"),
        ("cat", None),
        ("./{mode}", f"client.command: {tmp_path}/safe is not on this machine"),
        ("./{node}", None),
    ):
        system = system_of(written(tmp_path, FILE.replace('"client {peers}', f'"{command} {{peers}}')))
        assert (system.refuse(setup_of(system)) or "").removeprefix("--system my-store: ") == (why or "")
    system = system_of(
        written(tmp_path, FILE.replace('"client {peers}', '"cat {peers}') + '[probe]\ncommand = "./nope"')
    )
    assert "probe.command: " in (system.refuse(setup_of(system)) or "")


def test_a_role_for_a_node_that_the_cluster_lacks_is_refused(tmp_path: Path) -> None:
    text = FILE.replace('"client {peers}', '"cat {peers}').replace("port = 70", 'port = 70\nnodes = ["n2", "n9"]')
    system = system_of(written(tmp_path, text))
    assert system.refuse(setup_of(system)) == ("--system my-store: the role server is for n9; the nodes are n1 n2 n3")
    assert system.refuse(Setup(version="local")) is None, "what is only read has no nodes yet"
