"""``scripts/bootstrap``, with all that it calls replaced by something that only writes down that it was called."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.machine import SYSTEM_PATH

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

#: What any Debian has.  Programs that the bootstrap brings are not among them.
ESSENTIAL = (
    "bash", "cat", "dirname", "env", "find", "flock", "head", "id", "mkdir", "readlink", "sed", "sha256sum", "sort",
    "sh", "tr", "xargs", "mount", "losetup", "unshare", "ps", "tar", "sleep", "touch", "ssh", "rm", "chmod",
)  # fmt: skip

APT_GET = """\
echo "apt-get $*" >>"$CALLS"
case "$*" in
*update*) touch "$FARM/updated" ;;
*install*) [ ! -e "$FARM/broken" ] || exit 100
    printf '#!/bin/sh\\n%s' "$MVN" >"$FARM/mvn"; chmod +x "$FARM/mvn" ;;
esac
"""
APT_CACHE = """[ ! -e "$FARM/updated" ] || printf 'x:\\n  Candidate: 3.11.2\\n'"""
MVN = """\
echo "mvn $*" >>"$CALLS"
sleep "${MVN_SLEEP:-0}"
mkdir -p dledger_register/dist
touch dledger_register/dist/dledger-register-0.4.0.jar dledger_register/dist/dledger-register-0.3.2.jar
"""
PYTHON = """\
case "$*" in *"-m pip"*) echo "pip $*" >>"$CALLS"; touch "${0%/*}/harness"; chmod +x "${0%/*}/harness" ;;
*"-m compileall"*) touch "$FARM/bytecode" ;;
*"checker.warm"*) echo compiled >>"$FARM/compiled"; [ ! -e "$FARM/no-compiler" ] ;; esac
"""

pytestmark = pytest.mark.skipif(
    not Path("/usr/lib/jvm").is_dir() or not Path("/usr/sbin/sshd").exists(),
    reason="looks for a JDK and sshd where Debian has them",
)


class Clone:
    def __init__(self, root: Path) -> None:
        self.root, self.farm, self.calls = root / "clone", root / "farm", root / "calls"
        (self.root / "scripts").mkdir(parents=True)
        for name in ("bootstrap", "launcher.py"):
            shutil.copy(SCRIPTS / name, self.root / "scripts")
        self.write("requirements/lock.txt", "click==1\n")
        self.write("pyproject.toml", "")
        self.write("checker/kernels/search.py", "")
        self.write("history/codes.py", "")
        self.write("harness/clusters/provision.sh", 'cat "$FARM/nodes-need" 2>/dev/null; true')
        self.write("dledger_register/pom.xml", "<project/>")
        self.write("dledger_register/core/target/x.class", "")
        self.farm.mkdir()
        self.calls.touch()
        for name in ESSENTIAL:
            found = shutil.which(name, path=SYSTEM_PATH)
            assert found, name
            (self.farm / name).symlink_to(found)
        self.program("java", "")
        # A real JDK takes half a second to say its version, and is asked dozens of times.
        self.script(root / "jdk" / "bin" / "javac", "echo javac 17.0.1")
        self.jdk = root / "jdk"
        self.script(self.root / ".venv" / "bin" / "python", PYTHON)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def script(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def program(self, name: str, text: str) -> None:
        self.script(self.farm / name, text)

    def give_apt(self) -> None:
        self.program("apt-get", APT_GET)
        self.program("apt-cache", APT_CACHE)
        self.program("sudo", 'shift; exec "$@"')

    def start(self, *more: str, **extra: str) -> subprocess.Popen[str]:
        names = {"PATH": str(self.farm), "FARM": str(self.farm), "CALLS": str(self.calls), "MVN": MVN}
        names |= {"JAVA_HOME": str(self.jdk), **extra}
        words = [str(self.root / "scripts" / "bootstrap"), *more]
        return subprocess.Popen(words, env=names, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/")

    def run(self, *more: str, **extra: str) -> subprocess.CompletedProcess[str]:
        with self.start(*more, **extra) as process:
            out, err = process.communicate()
        return subprocess.CompletedProcess([], process.returncode, out, err)

    def called(self) -> list[str]:
        """What was called since the last time, without its options; Maven last, which runs beside pip."""
        lines = [
            " ".join(word for word in line.split() if word in KEPT or not word.startswith("-"))
            for line in self.calls.read_text().splitlines()
        ]
        self.calls.write_text("")
        return sorted(lines, key=lambda line: line.startswith("mvn"))


KEPT = ("--require-hashes", "-e", "--no-deps")
APT_OPTIONS = "DPkg::Lock::Timeout=300 DPkg::Options::=--force-confdef DPkg::Options::=--force-confold"
APT = [f"apt-get {APT_OPTIONS} update", f"apt-get {APT_OPTIONS} install maven"]
PIP = ["pip pip install --require-hashes requirements/lock.txt", "pip pip install --no-deps -e ."]
JARS = ["mvn dledger_register package"]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_installs_what_is_missing_and_says_so_before(clone: Clone) -> None:
    clone.give_apt()
    done = clone.run()
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert [line.replace("-o ", "") for line in clone.called()] == [*APT, *PIP, *JARS]
    assert "bootstrap: installing with apt-get: maven\n" in done.stderr


def test_what_a_node_needs_is_installed_with_the_rest(clone: Clone) -> None:
    clone.give_apt()
    (clone.farm / "nodes-need").write_text("nftables\nxfsprogs\n")
    clone.run()
    assert any(line.endswith("install maven nftables xfsprogs") for line in clone.called())


def test_the_jdk_of_this_machine_is_found(clone: Clone) -> None:
    clone.program("mvn", MVN)
    assert clone.run(JAVA_HOME="").returncode == 0
    home = (clone.root / "build" / "bootstrap" / "java-home").read_text().strip()
    assert (Path(home) / "bin" / "javac").exists()
    assert home != str(clone.jdk)


@pytest.mark.slow
def test_a_jdk_that_is_too_old_is_missing(clone: Clone) -> None:
    clone.program("mvn", MVN)
    clone.script(clone.jdk / "bin" / "javac", "echo javac 11.0.2")
    assert clone.run().returncode == 0
    assert (clone.root / "build" / "bootstrap" / "java-home").read_text().strip() != str(clone.jdk)


def test_the_second_time_there_is_nothing_to_do(clone: Clone) -> None:
    clone.give_apt()
    clone.run()
    clone.called()
    done = clone.run()
    assert (done.returncode, done.stderr, clone.called()) == (0, "", [])


@pytest.mark.slow
def test_only_what_changed_is_made_again(clone: Clone) -> None:
    clone.program("mvn", MVN)
    clone.run()
    assert clone.called() == [*PIP, *JARS]
    clone.write("requirements/lock.txt", "click==2\n")
    clone.run()
    assert clone.called() == PIP
    clone.write("dledger_register/core/src/Main.java", "class Main {}")
    clone.run()
    assert clone.called() == JARS
    clone.write("dledger_register/core/target/y.class", "")
    (clone.root / "dledger_register" / "dist" / "dledger-register-0.3.2.jar").unlink()
    clone.run()
    assert clone.called() == JARS


@pytest.mark.slow
def test_the_server_is_tested_once_and_again_when_it_changes(clone: Clone) -> None:
    clone.program("mvn", MVN)
    verified = ["mvn dledger_register verify"]
    clone.run()
    clone.called()
    for text in ("class Main {}", "class Main { int x; }"):
        clone.write("dledger_register/core/src/Main.java", text)
        for called in (verified, []):
            assert clone.run("--verify").returncode == 0
            assert clone.called() == called
    clone.run()
    assert clone.called() == []
    clone.write("dledger_register/core/src/Main.java", "class Main { int y; }")
    clone.run()
    assert clone.called() == JARS
    clone.run("--verify")
    assert clone.called() == verified


@pytest.mark.slow
def test_the_searches_are_compiled_once_and_again_when_they_change(clone: Clone) -> None:
    clone.program("mvn", MVN)
    for text, times in (("", 1), ("", 1), ("changed", 2)):
        clone.write("checker/kernels/search.py", text)
        clone.run()
        assert (clone.farm / "compiled").read_text().split() == ["compiled"] * times


def test_searches_may_be_left_to_the_next_call(clone: Clone) -> None:
    clone.program("mvn", MVN)
    assert clone.run("--no-compile").returncode == 0
    assert (clone.called(), (clone.farm / "compiled").exists()) == ([*PIP, *JARS], False)
    assert (clone.run().returncode, clone.called()) == (0, [])
    assert (clone.farm / "compiled").exists()


def test_packages_are_compiled_at_once_for_runs_and_by_use_for_tests(clone: Clone) -> None:
    clone.give_apt()
    assert clone.run("--tests").returncode == 0
    assert not (clone.farm / "bytecode").exists()
    (clone.root / ".venv" / "bootstrap-stamp").unlink()
    assert clone.run().returncode == 0
    assert (clone.farm / "bytecode").exists()


def test_searches_that_cannot_be_compiled_stop_nothing(clone: Clone) -> None:
    clone.program("mvn", MVN)
    (clone.farm / "no-compiler").touch()
    done = clone.run()
    assert done.returncode == 0
    assert "bootstrap: the checker's searches could not be compiled now" in done.stderr
    (clone.farm / "no-compiler").unlink()
    assert clone.run().stderr == "bootstrap: compiling the checker's searches\n"


def test_without_apt(clone: Clone) -> None:
    done = clone.run()
    assert done.returncode == 255
    assert done.stderr == (
        "bootstrap: missing: maven; no apt-get here: install what provides them, then run this again\n"
    )
    assert clone.called() == []


def test_with_neither_root_nor_sudo(clone: Clone) -> None:
    clone.give_apt()
    (clone.farm / "sudo").unlink()
    (clone.farm / "id").unlink()
    clone.program("id", "echo 1000")
    done = clone.run()
    assert done.returncode == 255
    assert done.stderr == "bootstrap: missing: maven; neither root nor sudo: as root, apt-get install maven\n"


def test_a_clone_of_another_user(clone: Clone) -> None:
    clone.write("build", "in the way, as a directory without permission would be")
    (clone.farm / "id").unlink()
    clone.program("id", "echo another")
    done = clone.run()
    assert done.returncode == 255
    assert done.stderr.endswith("cannot be written by another; run this as its owner, or use a clone of your own\n")


def test_an_installation_that_fails(clone: Clone) -> None:
    clone.give_apt()
    (clone.farm / "broken").touch()
    done = clone.run()
    assert done.returncode == 255
    assert done.stderr.endswith("apt-get install maven failed; mend what it says above, then run this again\n")


def test_two_at_once_do_the_work_once(clone: Clone) -> None:
    clone.program("mvn", MVN)
    with clone.start(MVN_SLEEP="1") as one, clone.start(MVN_SLEEP="1") as two:
        said = one.communicate()[1] + two.communicate()[1]
    assert (one.returncode, two.returncode) == (0, 0)
    assert clone.called() == [*PIP, *JARS]
    assert "bootstrap: waiting for another bootstrap\n" in said


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_scripts_are_clean() -> None:
    nodes = (SCRIPTS.parent / "harness" / "clusters").glob("*.sh")
    scripts = [path for path in SCRIPTS.iterdir() if os.access(path, os.X_OK) and path.read_bytes().startswith(b"#!")]
    shell = [str(path) for path in (*scripts, *nodes) if b"sh\n" in path.read_bytes().partition(b"\n")[0] + b"\n"]
    done = subprocess.run(["shellcheck", *shell], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


SUDO = """shift; echo "sudo $*" >>"$CALLS"
case "$1" in */harness) mkdir -p elsewhere; exit "${HARNESS_CODE:-0}" ;; esac
"""


def run_script(clone: Clone, user: str, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """``scripts/run`` with a bootstrap that has nothing to do, as root or as another user."""
    shutil.copy(SCRIPTS / "run", clone.root / "scripts")
    clone.script(clone.root / "scripts" / "bootstrap", "[ $# = 0 ] && touch bootstrapped")
    clone.script(clone.root / ".venv/bin/harness", 'echo "harness $*" >>"$CALLS"; exit "${HARNESS_CODE:-0}"')
    (clone.farm / "id").unlink()
    clone.program("id", f"echo {user}")
    clone.program("sudo", SUDO)
    names = {"PATH": str(clone.farm), "FARM": str(clone.farm), "CALLS": str(clone.calls), **extra}
    return subprocess.run(
        [str(clone.root / "scripts" / "run"), *words],
        env=names, cwd=clone.farm, text=True, check=False, capture_output=True,
    )  # fmt: skip


def test_what_a_run_leaves_belongs_to_the_user_who_called(clone: Clone) -> None:
    done = run_script(clone, "1000", "--store", "elsewhere", "--seed", "7", HARNESS_CODE="1")
    assert done.returncode == 1, done.stderr
    harness = clone.root / ".venv/bin/harness"
    assert clone.calls.read_text().splitlines() == [
        f"sudo {harness} run --store elsewhere --seed 7", "sudo chown -R -h 1000:1000 elsewhere",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("user", "words"), [("0", ["--seed", "7"]), ("1000", ["--cluster", "inventory:x.toml"]), ("1000", ["--help"])]
)
def test_a_run_without_sudo(clone: Clone, user: str, words: list[str]) -> None:
    assert run_script(clone, user, *words, HARNESS_CODE="2").returncode == 2
    assert clone.calls.read_text() == f"harness run {' '.join(words)}\n"
    assert (clone.farm / "bootstrapped").exists() == (words != ["--help"])


def test_help_is_there_before_anything_is_set_up(clone: Clone) -> None:
    shutil.copy(SCRIPTS / "run", clone.root / "scripts")
    done = subprocess.run(
        [str(clone.root / "scripts" / "run"), "--seed", "7", "-h"],
        env={"PATH": str(clone.farm), "CALLS": str(clone.calls)}, text=True, check=False, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: scripts/run [OPTIONS]\n")
    assert clone.calls.read_text() == ""
