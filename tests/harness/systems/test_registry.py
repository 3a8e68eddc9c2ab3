"""Which systems there are: our own, and those that other packages announce, without a line in this tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checker.models.registry import GROUP as MODELS
from harness.errors import UsageError
from harness.systems import DEFAULT, find_system, system_names
from harness.systems.registry import split_version
from history.system_entry_points import GROUP, of_source_tree

#: A system of another package: a register that one node holds, as short as it can be.
OTHER = """
from checker import CasRegister
from harness.systems.api import Option, PlantedBug, Role, Surface, System, Workload
from harness.systems.law import Law, Outcome
from harness.systems.ready import listening
from harness.workloads import RegisterWorkload


class Client:
    home = "n1"

    async def open(self): ...
    async def perform(self, invocation):
        return Outcome("info")
    async def close(self): ...


class Odd(CasRegister):
    '''A register that only this system has.'''


def broken():
    raise ImportError("half a package")


SYSTEM = System(
    name="other", summary="a system of another package", versions=("2", "1"), law=Law(),
    options=(Option(name="colour", default="red", choices=("red", "blue"), help="What it looks like."),),
    planted_bugs=(PlantedBug(name="forgets", help="forgets every write"),),
    roles=lambda setup: [Role(node=node.name, command=("sleep", "60"), ready=listening(7)) for node in setup.nodes],
    clients=lambda setup, number: [Client() for _ in range(number)],
    surface=lambda setup: Surface(peer_ports=(7,), client_port=8),
    workloads=(Workload(name="register", summary="reads and writes", model="register",
                        generator=lambda scale: RegisterWorkload(scale.keys).generator(),
                        final=lambda scale: RegisterWorkload(scale.keys).final_reads()),),
)
"""


#: Mistakes in such a system, and what is said of them; those of the second list when it is run.
WRONG = [
    ("versions=()", "versions is empty: the first is the default"),
    ("versions=('1', '1')", "versions: 1 appears twice"),
    ("workloads=()", "workloads is empty"),
    ("law=None", "law must be a Law, not None"),
    ("clients=None", "clients must be a function, not None"),
    (
        "options=(Option(name='a b', default=1, help=''),)",
        "names in options must be lowercase letters, digits, _ and -, beginning with a letter",
    ),
    ("options=(Option(name='a', default='x', choices=('y',), help=''),)", "options.a.default must be one of its choi"),
    ("options=(Option(name='a', default=9, most=3, help=''),)", "options.a.default is not within its bounds: 9"),
    ("options=(Option(name='a', default=None, help=''),)", "options.a.default must be true or false, a number or a s"),
    ("planted_bugs=(PlantedBug(name='c', help='', options={'colr': 1}),)", "bugs.c.options: there is no option 'colr'"),
    ("options=('colour',)", "'str' object has no attribute 'name'"),
]
WRONG_IN_A_RUN = [
    ("refuse=lambda setup: setup.options['none']", "its refuse failed: KeyError: 'none'"),
    ("workloads=(replace(SYSTEM.workloads[0], model='nope'),)", "there is no model 'nope'"),
]


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A directory with an installed package, as pip leaves it."""
    (tmp_path / "other_system.py").write_text(OTHER)
    (tmp_path / "broken_system.py").write_text("raise RuntimeError('half a module')\n")
    metadata = tmp_path / "other_system-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other-system\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[{MODELS}]\nodd = other_system:Odd\nregister = other_system:broken\nhalf = other_system:broken\n"
        f"[{GROUP}]\nother = other_system:SYSTEM\nbroken = broken_system:SYSTEM\nmisnamed = other_system:SYSTEM\n"
    )
    return tmp_path


def python(wheel: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(wheel), str(Path(__file__).resolve().parents[3])])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, input=given)


def harness(wheel: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return python(wheel, "-m", "harness", *words)


def test_the_system_of_another_package_is_one_of_them(wheel: Path) -> None:
    done = harness(wheel, "list", "systems", "other", "--json")
    assert done.returncode == 0, done.stderr
    (system,) = json.loads(done.stdout)["systems"]
    assert (system["name"], system["versions"]) == ("other", ["2", "1"])
    assert [option["name"] for option in system["options"]] == ["colour"]
    assert [one["name"] for one in system["planted_bugs"]] == ["forgets"]
    assert [one["model"] for one in system["workloads"]] == ["register"]


def test_a_source_tree_announces_what_was_just_added_to_it_and_an_installed_package_has_none(tmp_path: Path) -> None:
    added = tmp_path / "pyproject.toml"
    assert list(of_source_tree(added)) == []
    added.write_text(f'[project.entry-points."{GROUP}"]\nnewest = "newest_system:SYSTEM"\n')
    assert [(point.name, point.value) for point in of_source_tree(added)] == [("newest", "newest_system:SYSTEM")]


@pytest.mark.slow
def test_a_system_brings_the_models_that_only_it_needs(wheel: Path, tmp_path: Path) -> None:
    listed = json.loads(harness(wheel, "list", "models", "--json").stdout)["models"]
    summaries = {one["name"]: one["summary"] for one in listed}
    assert summaries["odd"] == "A register that only this system has."
    assert summaries["half"] == "the model half: other_system:broken cannot be loaded: ImportError: half a package"
    history = tmp_path / "history.jsonl"
    header = {"format": "harness-history", "version": 1, "model": "odd"}
    written = [("invoke", None), ("ok", 7)]
    events = [
        {"index": at, "time": at, "type": kind, "process": 0, "f": "read", "value": value}
        for at, (kind, value) in enumerate(written)
    ]
    history.write_text("".join(json.dumps(line) + "\n" for line in [header, *events]))
    wrong = harness(wheel, "check", str(history))
    assert wrong.returncode == 1, wrong.stderr
    assert "7" in wrong.stdout
    assert harness(wheel, "check", str(history), "--model", "register").returncode == 1, "ours is no other's"
    unknown = harness(wheel, "check", str(history), "--model", "od")
    assert (unknown.returncode, "did you mean odd?" in unknown.stderr) == (254, True)


def test_its_options_are_those_of_the_command_line_when_it_is_named(wheel: Path) -> None:
    text = harness(wheel, "run", "--system", "other", "--help").stdout
    assert "--colour [red|blue]" in text
    assert "--snapshot" not in text
    assert "--colour" not in harness(wheel, "run", "--help").stdout


REFUSED = [
    (["--system", "other", "--colour", "green"], "'green' is not one of 'red', 'blue'"),
    (["--system", "other", "-o", "colour=green"], "--colour must be one of 'blue', 'red', not 'green'"),
    (["--system", "other", "-o", "shade=1"], "-o shade=1: expected NAME=VALUE"),
    (["--system", "other@9"], "must be one of '1', '2', not '9'"),
    (["--system", "other@"], "--system other@: the version after the @ is missing"),
    (["--system", "other", "-o", "colour=red", "--colour", "blue"], "colour=red and --colour blue name different"),
    (["--system", "othr"], "there is no system 'othr'; did you mean other?"),
    (["--system", "other", "--snapshot"], "No such option"),
    (["--system", "other@2", "--dledger-version", "0.4.0"], "name different versions"),
    (["--system", "other", "--stop-on-violation"], "drop the option"),
    (["--system", "other", "--planted-bug", "forgets"], "add --unsafe-test-mode"),
    (["--colour", "red"], "No such option"),
]
#: Each command line of standard input, and on standard output its code and what it said.
EACH = """
import contextlib, io, json, sys
from harness.cli.main import run_command
said = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        said.append([run_command(words), stderr.getvalue()])
print(json.dumps(said))
"""


@pytest.mark.slow
def test_what_a_system_does_not_take_is_254_in_one_line(wheel: Path) -> None:
    given = json.dumps([["run", "--no-spark", *words] for words, _ in REFUSED])
    answers = json.loads(python(wheel, "-c", EACH, given=given).stdout)
    for (words, why), (code, said) in zip(REFUSED, answers, strict=True):
        assert (code, said.count("\n")) == (254, 1), words
        assert why in said, words


@pytest.mark.slow
def test_one_that_cannot_be_loaded_is_named_and_no_traceback(wheel: Path) -> None:
    for name, why in (("broken", "RuntimeError: half a module"), ("misnamed", "is not a System of that name")):
        done = harness(wheel, "list", "systems", name)
        assert done.returncode == 254
        assert why in done.stderr
        assert "Traceback" not in done.stderr


def test_a_mistake_in_a_system_is_one_line_that_names_it(wheel: Path) -> None:
    mistakes = [*WRONG, *WRONG_IN_A_RUN]
    made = [f"M{at} = replace(SYSTEM, **{{'name': 'm{at}', **dict({one})}})\n" for at, (one, _) in enumerate(mistakes)]
    names = "from dataclasses import replace\nfrom other_system import *\n"
    (wheel / "wrong_systems.py").write_text(names + "".join(made))
    with (wheel / "other_system-1.0.dist-info" / "entry_points.txt").open("a") as announced:
        announced.writelines(f"m{at} = wrong_systems:M{at}\n" for at in range(len(mistakes)))
    runs = [["run", "--system", f"m{at}", "--dry-run"] for at in range(len(mistakes))]
    lists = [["list", "systems", f"m{at}"] for at in range(len(WRONG))]
    answers = json.loads(python(wheel, "-c", EACH, given=json.dumps(runs + lists)).stdout)
    for (changed, why), (code, said) in zip([*mistakes, *WRONG], answers, strict=True):
        assert (code, said.count("\n")) == (254, 1), (changed, said)
        assert why in said


def test_the_default_comes_first_and_is_found_by_its_entry_point() -> None:
    assert system_names()[0] == DEFAULT
    assert find_system(DEFAULT).name == DEFAULT


def test_an_unknown_name_is_refused_with_the_near_ones() -> None:
    with pytest.raises(UsageError, match=f"there is no system 'dleger'; did you mean {DEFAULT}"):
        find_system("dleger")


@pytest.mark.parametrize(
    ("text", "parts"),
    [("a", ("a", "")), ("a@1.2", ("a", "1.2")), ("d@x/kv.toml", ("d@x/kv.toml", "")),
     ("d@x/kv.toml@2", ("d@x/kv.toml", "2"))],
)  # fmt: skip
def test_a_version_stands_behind_the_name(text: str, parts: tuple[str, str]) -> None:
    assert split_version(text) == parts
