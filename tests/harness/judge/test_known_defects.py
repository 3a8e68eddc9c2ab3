"""Known defects: a violation is recognized as one of them by its marks, never by its kind alone."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as struct_replace

from harness.errors import UsageError
from harness.judge.known_defects import Defect, defects_of, known_in, read_defects, unexplained
from harness.suite.suitefile import read_suite
from harness.systems.registry import system_names
from history import Probe, RunFiles
from history.recording import Recording
from history.records.finding import KnownDefect
from history.records.probes import probes_header
from history.records.violations import Violation, violations_of
from reports.words.of_clients import known_defect_text
from tests.support.draws import draws

SUITES = Path(__file__).parents[3] / "suites"

HEADER = {"format": "harness-history", "version": 1, "test": "t", "model": "register", "seed": 1,
          "started": "2026-11-25T10:00:00+00:00", "nodes": ["n1", "n2", "n3"]}  # fmt: skip
STUCK = Defect("stuck", ("no-recovery",), r"\[Push-{node}\]Reset write index", times=3)
CUT = Defect("cut", ("committed-entries-deleted", "no-recovery"), r"\[TRUNCATE\]")
CRASH = Defect("crash", ("term-forgotten",), "term=0", faults=("crash-all",))
N3 = Violation("recovery", "no-recovery", ("n3",))
#: Kinds of violations in which committed entries are gone from a log.
SHORT_LOGS = {"committed-entries-deleted", "commit-beyond-log", "leader-lacks-committed"}


@pytest.fixture
def run(tmp_path: Path) -> RunFiles:
    found = RunFiles(tmp_path)
    found.history.write_text(json.dumps(HEADER) + "\n")
    return found


def read(run: RunFiles) -> Recording:
    return Recording(run.root)


def log(run: RunFiles, node: str, *lines: str, name: str = "register.log") -> None:
    (run.nodes / node).mkdir(parents=True, exist_ok=True)
    (run.nodes / node / name).write_text("".join(f"{line}\n" for line in lines))


def test_the_mark_may_name_the_node_and_stand_in_anybodys_log(run: RunFiles) -> None:
    log(run, "n1", *["[Push-n3]Reset write index"] * 2)
    log(run, "n1", "[Push-n3]Reset write index", name="register.log.1")
    log(run, "n3", "quiet")
    assert STUCK.explains(N3, read(run), (), ())


@pytest.mark.parametrize("lines", [["[Push-n3]Reset write index"] * 2, ["[Push-n2]Reset write index"] * 9, []])
def test_too_few_lines_or_those_of_another_node_explain_nothing(run: RunFiles, lines: list[str]) -> None:
    log(run, "n1", *lines)
    log(run, "n3", "quiet")
    assert unexplained([N3], [STUCK], run, [], ()) == [N3]


def test_a_mark_that_names_no_node_must_stand_in_the_log_of_one_that_the_check_names(run: RunFiles) -> None:
    log(run, "n1", "[TRUNCATE] truncateIndex: 0")
    log(run, "n3", "quiet")
    assert unexplained([N3], [CUT], run, [], ()) == [N3]
    log(run, "n3", "[TRUNCATE] truncateIndex: 0")
    assert unexplained([N3], [CUT], run, [], ()) == []


def test_what_clients_saw_names_no_node_so_any_log_will_do(run: RunFiles) -> None:
    log(run, "n1", "[TRUNCATE] truncateIndex: 0")
    lost = Violation("linearizable", "lost-write")
    assert unexplained([lost], [CUT], run, [], ()) == [lost]
    assert unexplained([lost], [Defect("cut", ("lost-write",), r"\[TRUNCATE\]")], run, [], ()) == []


def test_where_only_a_fault_brings_it_about_that_fault_must_have_struck_there(run: RunFiles) -> None:
    log(run, "n1", "term=0")
    forgot = Violation("terms-kept", "term-forgotten", ("n1",))
    receipts: list[dict[str, Any]] = [{"fault": "crash-all", "state": "installed", "nodes": ["n1", "n2"]}]
    assert CRASH.explains(forgot, read(run), receipts, ())
    assert not CRASH.explains(forgot, read(run), [{**receipts[0], "nodes": ["n2"]}], ())
    assert not CRASH.explains(forgot, read(run), [{**receipts[0], "state": "skipped"}], ())
    assert not CRASH.explains(forgot, read(run), [{**receipts[0], "fault": "kill-all"}], ())
    assert not CRASH.explains(forgot, read(run), [], ())


PROVED = Defect("cut", ("committed-entries-deleted", "lost-write", "no-recovery"), r"\[TRUNCATE\]",
                only_with=("committed-entries-deleted",))  # fmt: skip
LOST = Violation("linearizable", "lost-write")
DELETED = Violation("committed-kept", "committed-entries-deleted", ("n3",))


def test_where_healthy_runs_write_the_line_a_kind_counts_only_beside_one_that_proves_the_defect(run: RunFiles) -> None:
    log(run, "n3", "[TRUNCATE] truncateIndex: 0")
    assert unexplained([LOST, N3, DELETED], [PROVED], run, [], {"lost-write", "committed-entries-deleted"}) == []
    assert unexplained([LOST, N3], [PROVED], run, [], {"lost-write", "no-recovery"}) == [LOST, N3]
    assert unexplained([DELETED], [PROVED], run, [], {"committed-entries-deleted"}) == []


def test_the_kind_that_proves_a_defect_wants_its_marks_all_the_same(run: RunFiles) -> None:
    log(run, "n3", "quiet")
    found = {"lost-write", "committed-entries-deleted"}
    assert unexplained([LOST, DELETED], [PROVED], run, [], found) == [LOST, DELETED]


def retried(run: RunFiles, seconds: range, a_second: int = 1) -> None:
    line = "2026-11-25 10:00:{:02d},000 WARN [Push-n3]Retry to push entry at {}"
    log(run, "n1", *(line.format(second, 7 + a_second * second) for second in seconds))


@pytest.mark.parametrize(
    ("seconds", "healed", "known"),
    [(range(30, 36), 20, True), (range(30, 35), 20, False), (range(29, 35), 20, False), (range(10, 31), 20, False)],
)
def test_a_line_that_counts_only_some_time_after_the_last_heal(
    run: RunFiles, seconds: range, healed: int, known: bool
) -> None:
    one_a_second = read_defects(SUITES / "defects" / "dledger.toml")["one-entry-a-second"]
    assert (one_a_second.after_heal_s, one_a_second.times) == (10, 5)
    committed(run, "n3", 5, 90)
    retried(run, seconds)
    receipts: list[dict[str, Any]] = [
        {"fault": "kill-leader", "state": "installed", "healed": healed * 10**9},
        {"fault": "kill-leader", "state": "skipped", "healed": None},
        {"fault": "kill-leader", "state": "installed", "healed": 10**9},
    ]
    assert one_a_second.explains(N3, read(run), receipts, ()) is known
    # A node whose clock we set may have logged them before the heal.
    clock = {"fault": "clock-skew", "state": "installed", "nodes": ["n1"], "healed": 10**9}
    assert not one_a_second.explains(N3, read(run), [*receipts, clock], ())
    skipped = {**clock, "state": "skipped"}
    assert one_a_second.explains(N3, read(run), [*receipts, skipped], ()) is known


def test_a_leader_that_repeats_one_entry_to_a_dead_node_does_not_show_a_slow_one(run: RunFiles) -> None:
    one_a_second = read_defects(SUITES / "defects" / "dledger.toml")["one-entry-a-second"]
    retried(run, range(30, 59), a_second=0)
    assert not one_a_second.explains(N3, read(run), [], ())


@pytest.mark.parametrize(
    ("name", "leader", "follower", "known"),
    [
        ("never-catches-up", "Reset write index to 304 for resending the entries which are timeout",
         "ledgerBeforeBegin=-1 ledgerEnd=1303 committed=1300", True),
        ("never-catches-up", "Reset write index to 304 for resending the entries which are timeout",
         "ledgerBeforeBegin=-1 ledgerEnd=303 committed=302", False),
        ("stays-at-its-snapshot", "Change state from COMPARE to INSTALL_SNAPSHOT",
         "ledgerBeforeBegin=1800 ledgerEnd=1800 committed=-1", True),
        ("stays-at-its-snapshot", "Change state from COMPARE to INSTALL_SNAPSHOT",
         "ledgerBeforeBegin=-1 ledgerEnd=282 committed=280", False),
    ],
)  # fmt: skip
def test_what_a_leader_repeats_to_a_dead_node_shows_no_stuck_one(
    run: RunFiles, name: str, leader: str, follower: str, known: bool
) -> None:
    defect = read_defects(SUITES / "defects" / "dledger.toml")[name]
    log(run, "n1", *[f"2026-11-25 10:00:40,000 WARN [Push-n3]{leader}"] * 100)
    log(run, "n3", f"2026-11-25 10:00:10,000 INFO [n3][FOLLOWER] term=1 {follower} watermarks={{}}")
    assert defect.explains(N3, read(run), [], ()) is known
    assert not defect.explains(replace(N3, nodes=("n2",)), read(run), [], ())


def truncated(run: RunFiles, node: str, second: int, log_end: int) -> None:
    stamp = f"2026-11-25 10:00:{second:02d},000"
    log(run, node, f"{stamp} INFO [TRUNCATE] truncateIndex: 0, after truncate, ledgerEndIndex: {log_end}")


def committed(run: RunFiles, node: str, second: int, index: int) -> None:
    probe = Probe(second * 10**9, node, "follower", 1, log_end=index, committed=index, applied=index)
    run.probes.write_text(probes_header() + "\n" + json.dumps(probe.to_json()) + "\n")


def test_a_truncation_of_0_4_0_makes_no_lost_write_a_known_one_while_no_committed_entry_is_gone(run: RunFiles) -> None:
    deleted_logs = read_defects(SUITES / "defects" / "dledger.toml")["deleted-logs"]
    assert set(deleted_logs.only_with) == SHORT_LOGS
    truncated(run, "n3", 20, -1)
    committed(run, "n3", 19, 90)
    for kind in set(deleted_logs.kinds) - SHORT_LOGS:
        assert not deleted_logs.explains(Violation("any", kind), read(run), (), {kind})
        assert all(deleted_logs.explains(Violation("any", kind), read(run), (), {kind, proof}) for proof in SHORT_LOGS)
    for proof in SHORT_LOGS:
        assert deleted_logs.explains(Violation("any", proof, ("n3",)), read(run), (), {proof})
        assert not deleted_logs.explains(Violation("any", proof, ("n2",)), read(run), (), {proof}), (
            "no line of that node"
        )


@pytest.mark.parametrize(("second", "index"), [(21, 90), (19, 40), (19, -1)], ids=["later", "not below", "nothing yet"])
def test_a_truncation_of_what_was_not_committed_there_is_an_election_like_any_other(
    run: RunFiles, second: int, index: int
) -> None:
    """A committed entry that is gone without a truncation below it is a new defect of the same kind."""
    deleted_logs = read_defects(SUITES / "defects" / "dledger.toml")["deleted-logs"]
    truncated(run, "n3", 20, 40)
    committed(run, "n3", second, index)
    assert not deleted_logs.explains(DELETED, read(run), (), {DELETED.kind})


@pytest.mark.parametrize(
    ("fault", "nodes", "started", "healed", "known"),
    [
        ("file-truncate", ["n3"], 10, 18, True),
        ("file-truncate", ["n3"], 10, 19.5, False),
        ("crash-random-nodes", ["n3"], 10, None, False),
        ("crash-random-nodes", ["n3"], 21, 30, True),
        ("crash-random-nodes", ["n2"], 10, 19.5, True),
        ("kill-random-processes", ["n3"], 10, 19.5, True),
    ],
)
def test_what_a_node_had_committed_before_a_fault_cut_its_log_is_nothing_that_a_defect_deleted(
    run: RunFiles, fault: str, nodes: list[str], started: int, healed: float | None, known: bool
) -> None:
    deleted_logs = read_defects(SUITES / "defects" / "dledger.toml")["deleted-logs"]
    truncated(run, "n3", 20, 40)
    committed(run, "n3", 19, 90)
    cut = {"fault": fault, "state": "installed", "nodes": nodes, "started": started * 10**9}
    receipts = [{**cut, "healed": healed and round(healed * 10**9)}]
    assert deleted_logs.explains(DELETED, read(run), receipts, {DELETED.kind}) is known


def test_where_no_node_was_probed_no_truncation_is_known_to_cut_off_what_was_committed(run: RunFiles) -> None:
    deleted_logs = read_defects(SUITES / "defects" / "dledger.toml")["deleted-logs"]
    truncated(run, "n3", 20, 40)
    committed(run, "n3", 19, 90)
    run.probes.unlink()
    assert not deleted_logs.explains(DELETED, read(run), (), {DELETED.kind})


@pytest.mark.parametrize(("stamp", "known"), [("09:59:58", False), ("10:00:01", True)])
def test_a_line_of_the_cluster_s_own_start_is_no_mark(run: RunFiles, stamp: str, known: bool) -> None:
    log(run, "n3", f"2026-11-25 {stamp},000 INFO [TRUNCATE] truncateIndex: 0")
    assert CUT.explains(N3, read(run), (), ()) is known


ENDS = Defect(
    "ends", ("read-then-gone",),
    (r"recovered {object} at (?P<above>\d+)$", r"closed {object} at (?P<below>\d+)$"),
    unless="recovered {object} at {below}$",
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        (["recovered 7 at 13", "closed 7 at 11"], True),
        (["closed 7 at 11", "recovered 7 at 13"], True),
        (["recovered 7 at 11", "closed 7 at 11"], False),
        (["recovered 7 at 9", "closed 7 at 11"], False),
        (["recovered 7 at 13", "recovered 7 at 11", "closed 7 at 11"], False),
        (["recovered 7 at 13", "recovered 7 at 9", "closed 7 at 11"], True),
        (["recovered 8 at 13", "closed 7 at 11"], False),
        (["recovered 7 at 13"], False),
    ],
)
def test_a_mark_of_several_lines_is_told_by_their_numbers(run: RunFiles, lines: list[str], known: bool) -> None:
    log(run, "n1", *lines[:1])
    log(run, "n2", *lines[1:])
    gone = Violation("ledgers", "read-then-gone", objects=("7",))
    assert ENDS.explains(gone, read(run), (), ()) is known
    assert not ENDS.explains(replace(gone, objects=("7", "8")), read(run), (), ()), "each object bears the mark"
    assert not ENDS.explains(replace(gone, objects=()), read(run), (), ()), "whose mark is not known"


AGAIN = Defect("again", ("wrong-epoch",), (
    r"^(?P<node>\S+): failed (?P<epoch>\d+)", r"^(?P<node>\S+): ran (?P<epoch>\d+)",
    r"^(?P<node>\S+): (ran|elected) (?P<epoch>\d+)",
))  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        (["ran 5", "failed 5", "ran 5"], True),
        (["ran 5", "failed 5", "elected 5"], True),
        (["elected 5", "failed 5", "elected 5"], False),
        (["ran 5", "failed 5", "ran 6"], False),
        (["ran 6", "failed 5", "ran 6"], False),
        (["ran 5", "failed 5"], False),
    ],
)
def test_several_lines_may_be_of_one_node_and_agree_in_more(run: RunFiles, lines: list[str], known: bool) -> None:
    log(run, "n1", *lines)
    log(run, "n2", "ran 5", "ran 5")
    assert AGAIN.explains(Violation("epochs", "wrong-epoch"), read(run), (), ()) is known


MANY = Defect("many", ("wrong-epoch",), ("a", "b|a", "c|a|b", r"d (?P<above>\d+)", r"e (?P<below>\d+)"), times=3)
EPOCHS = Violation("epochs", "wrong-epoch")


@pytest.mark.parametrize(("lines", "known"), [(["d 7", "e 7"], False), (["d 7", "e 7", "d 8"], True)])
def test_lines_that_are_alike_are_not_tried_in_every_choice(run: RunFiles, lines: list[str], known: bool) -> None:
    """Two hundred of each would be eight million choices."""
    log(run, "n1", *["a", "b", "c"] * 200, *lines)
    assert MANY.explains(EPOCHS, read(run), (), ()) is known


@pytest.mark.parametrize(("lines", "known"), [("aaa", True), ("aa", False), ("aab", False), ("abc", False)])
def test_each_expression_takes_a_line_of_its_own_and_those_of_the_first_are_counted(
    run: RunFiles, lines: str, known: bool
) -> None:
    log(run, "n1", *lines)
    thrice = Defect("thrice", ("wrong-epoch",), ("a", "a|b", "a|c"), times=3)
    assert thrice.explains(EPOCHS, read(run), (), ()) is known
    assert not struct_replace(thrice, times=4).explains(EPOCHS, read(run), (), ())


@settings(max_examples=draws(60, 2000))
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=6), st.integers(1, 4))
def test_marks_are_those_of_every_choice_of_lines(words: list[tuple[str, int]], times: int) -> None:
    lines = [f"{word} {number}" for word, number in words]
    patterns = (r"a (?P<above>\d)", r"[ab] (?P<x>\d)", r"[ab] (?P<x>\d)", r"b (?P<below>\d)")

    def marks(first: str) -> bool:
        """Whether any choice of different lines has a first line, twice the same number, and falls."""
        rest = list(lines)
        rest.remove(first)
        return first[0] == "a" and any(
            one[2] == other[2] and last[0] == "b" and first[2] > last[2] for one, other, last in permutations(rest, 3)
        )

    with TemporaryDirectory() as folder:
        run = RunFiles(Path(folder))
        run.history.write_text(json.dumps(HEADER) + "\n")
        log(run, "n1", *lines)
        defect = Defect("choice", ("wrong-epoch",), patterns, times=times)
        assert defect.explains(EPOCHS, read(run), (), ()) is (sum(map(marks, lines)) >= times)


@pytest.mark.parametrize(
    ("pattern", "line", "known"),
    [
        (r"cut( at (?P<log_end>\d+))?", "cut", False),
        (r"above (?P<above>\S+) below( (?P<below>\d+))?", "above 7 below", False),
        (r"above (?P<above>\S+) below( (?P<below>\d+))?", "above x below 5", False),
        (r"above (?P<above>\S+) below( (?P<below>\d+))?", "above 7 below 5", True),
    ],
)
def test_a_line_that_lacks_what_a_group_asks_for_is_no_mark(
    run: RunFiles, pattern: str, line: str, known: bool
) -> None:
    log(run, "n1", f"2026-11-25 10:00:20,000 {line}")
    defect = Defect("lacks", ("wrong-epoch",), pattern, unless="never")
    assert defect.explains(EPOCHS, read(run), (), ()) is known


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        (["09:59:58,000 starts", "[TRUNCATE]", "10:00:01,000 serves"], False),
        (["[TRUNCATE]", "09:59:58,000 starts", "10:00:01,000 serves"], False),
        (["09:59:58,000 starts", "[TRUNCATE]"], False),
        (["09:59:58,000 starts", "10:00:01,000 serves", "[TRUNCATE]"], True),
        (["[TRUNCATE]", "10:00:01,000 serves"], True),
        (["no date anywhere", "[TRUNCATE]"], True),
    ],
)
def test_a_line_without_a_date_is_of_the_start_where_its_neighbours_are(
    run: RunFiles, lines: list[str], known: bool
) -> None:
    log(run, "n3", *(f"2026-11-25 {line}" if line[0].isdigit() else line for line in lines))
    assert CUT.explains(N3, read(run), (), ()) is known


def test_a_defect_that_shows_only_in_some_workloads_or_versions(run: RunFiles) -> None:
    log(run, "n3", "[TRUNCATE]")
    run.plan.write_text('{"workload": "set", "version": "5.4.0"}')
    assert struct_replace(CUT, workloads=("set", "bank")).explains(N3, read(run), (), ())
    assert not struct_replace(CUT, workloads=("bank",)).explains(N3, read(run), (), ())
    assert struct_replace(CUT, versions=("5.4.0", "5.5.0")).explains(N3, read(run), (), ())
    assert not struct_replace(CUT, versions=("5.3.3",)).explains(N3, read(run), (), ())


def test_without_logs_nothing_is_explained(run: RunFiles) -> None:
    assert unexplained([N3], [STUCK, CUT], run, [], ()) == [N3]


def test_a_defect_that_logs_nothing_is_known_by_the_kinds_that_prove_it(run: RunFiles) -> None:
    silent = Defect("silent", ("lost-add", "hole"), only_with=("lost-add",))
    lost, hole = Violation("ledgers", "lost-add"), Violation("ledgers", "hole")
    assert unexplained([lost, hole], [silent], run, [], {"lost-add", "hole"}) == []
    assert unexplained([hole], [silent], run, [], {"hole"}) == [hole]


def check(name: str, verdict: str, **finding: Any) -> dict[str, Any]:
    findings = [{"type": "Finding", "check": name, "verdict": verdict, **finding}] if finding else []
    return {"name": name, "verdict": verdict, "findings": findings}


@pytest.mark.parametrize(("end", "known"), [(113, True), (119, False)])
def test_a_truncation_of_0_3_2_is_a_known_defect_where_it_cuts_off_what_was_committed(
    run: RunFiles, end: int, known: bool
) -> None:
    cut = read_defects(SUITES / "defects" / "dledger.toml")["cut-at-the-first-match"]
    committed(run, "n3", 19, 119)
    log(run, "n3", f"2026-11-25 10:00:20,000 INFO [HandleDoTruncate] truncateIndex={end} pos=9834")
    assert cut.explains(DELETED, read(run), (), ()) is known
    assert not cut.explains(LOST, read(run), (), {"lost-write", "committed-entries-deleted"})


def contradicted(name: str, *kinds: str, verdict: str = "invalid") -> dict[str, Any]:
    found = [{"type": "Contradiction", "check": name, "kind": kind, "count": 1} for kind in kinds]
    return {**check(name, verdict), "findings": [{**one, "verdict": verdict} for one in found]}


def test_violations_are_of_findings_and_of_checks_with_the_nodes_that_these_name() -> None:
    checks = [
        contradicted("linearizable", "stale-read", "lost-write"),
        check("recovery", "invalid", kind="no-recovery", severity="no commits", nodes=["n1", "n3"]),
        check("election-safety", "valid", kind="two-leaders"), check("node-logs", "invalid"),
        check("committed-kept", "invalid", kind="committed-entries-deleted", severity="data lost", nodes=["n2"]),
    ]  # fmt: skip
    assert violations_of({"checks": checks}) == (
        Violation("committed-kept", "committed-entries-deleted", ("n2",)),
        Violation("linearizable", "stale-read"),
        Violation("linearizable", "lost-write"),
        Violation("recovery", "no-recovery", ("n1", "n3")),
        Violation("node-logs", "node-logs"),
    )


def test_each_kind_that_one_check_found_is_a_violation() -> None:
    """Or a known one would hide all others of its check."""
    found = violations_of({"checks": [contradicted("ledgers", "order", "lost-add")]})
    assert found == (Violation("ledgers", "order"), Violation("ledgers", "lost-add"))


def test_marks_of_one_node_explain_nothing_of_another(run: RunFiles) -> None:
    """A known defect is recognized on each node by itself, or a new one on a second node would pass as known."""
    marked = Defect("old", ("no-recovery",), "the mark")
    both = Violation("recovery", "no-recovery", ("n1", "n2"))
    log(run, "n1", "the mark")
    log(run, "n2", "whatever")
    assert unexplained([both], [marked], run, (), ()) == [replace(both, nodes=("n2",))]
    log(run, "n2", "the mark")
    assert unexplained([both], [marked], run, (), ()) == []


def test_examples_of_a_valid_run_count_for_nothing() -> None:
    assert violations_of({"checks": [contradicted("linearizable", "stale-read", verdict="valid")]}) == ()
    assert violations_of({}) == ()


GOOD = "[[defect]]\nname = 'a'\nkinds = ['no-recovery']\nlog = 'x{node}'\n"


def test_a_file_of_defects_is_read(tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(
        GOOD + "times = 7\nfaults = ['crash-all']\nonly_with = ['no-recovery']\nafter_heal_s = 2.5\nwhy = 'found'\n"
    )
    found = read_defects(tmp_path / "d.toml")
    assert found == {"a": Defect("a", ("no-recovery",), "x{node}", 7, ("crash-all",), ("no-recovery",), 2.5, "found")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("x{node}", "("), "defect[0].log is not a regular expression"),
        (GOOD.replace("['no-recovery']", "[]"), "defect[0].kinds must be a list of strings (at least one), not []"),
        (
            GOOD.replace("['no-recovery']", "'no-recovery'"),
            "kinds must be a list of strings (at least one), not 'no",
        ),
        (GOOD + "times = 0", "times must be a whole number from 1 on, not 0"),
        (GOOD + "only_with = 'no-recovery'", "only_with must be a list of strings, not 'no-recovery'"),
        (GOOD + "only_with = ['no-recover']", "'no-recover', which is not one of its kinds; did you mean no-recovery?"),
        (GOOD + "tims = 2", "there is no key 'tims'; did you mean times?"),
        (
            GOOD.replace("log =", "why ="),
            "defect[0] has only kinds to recognize it by: add log, faults, only_with or versions",
        ),
        (
            GOOD.replace("log =", "why =") + "faults = ['crash-all']\ntimes = 2",
            "defect[0] has times or after_heal_s, which are about lines that match log: add log",
        ),
        (
            GOOD.replace("log =", "why =") + "faults = ['x']\nunless = 'y'",
            "unless, which excludes lines that match log: add log",
        ),
        (GOOD.replace("x{node}", "(?P<above>1)"), "log has only one of the groups above and below: add the other"),
        (GOOD.replace("'x{node}'", "['x', '(']"), "defect[0].log is not a regular expression"),
        (GOOD + "unless = '('", "defect[0].log is not a regular expression"),
        (GOOD + GOOD, "the defect a is defined twice"),
        (GOOD.replace("name = 'a'\n", ""), "defect[0].name is missing: it must be a string that is not empty"),
        ("[[defects]]", "there is no key 'defects'"),
        ("x = (", "not TOML"),
    ],
)
def test_a_wrong_file_names_the_place_and_the_mend(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "d.toml").write_text(text)
    with pytest.raises(UsageError, match=r"d\.toml") as raised:
        read_defects(tmp_path / "d.toml")
    assert said in str(raised.value)


def test_a_suite_takes_the_defects_that_it_names_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(GOOD + "why = 'found'\n")
    matrix = "defects = 'd.toml'\n[[matrix]]\nnemesis = 'bridge'\ntime_limit = 40\nexpect = 'invalid'\nknown = 'a'\n"
    (tmp_path / "s.toml").write_text(matrix)
    (cell,) = read_suite(tmp_path / "s.toml").cells(1, "netns")
    assert [defect.name for defect in cell.expected.known] == ["a"]
    assert cell.expected.why == "found"
    (tmp_path / "other.toml").write_text(GOOD.replace("'a'", "'b'"))
    (tmp_path / "s.toml").write_text(
        matrix.replace("'d.toml'", "['d.toml', 'other.toml']").replace("'a'", "['a', 'b']")
    )
    assert [defect.name for defect in read_suite(tmp_path / "s.toml").cells(1, "netns")[0].expected.known] == ["a", "b"]
    (tmp_path / "s.toml").write_text(matrix.replace("'a'", "'b'"))
    with pytest.raises(UsageError, match="known: there is no defect 'b'"):
        read_suite(tmp_path / "s.toml")


@pytest.mark.parametrize(
    ("kinds", "strange"),
    [
        (("unreadable-entry", "read-then-gone", "hole"), []),
        (("lost-add", "confirmed-beyond-end"), []),
        (("read-then-gone", "hole"), ["read-then-gone", "hole"]),
        (("unreadable-entry", "other-payload"), ["other-payload"]),
    ],
)
def test_what_goes_with_lost_entries_counts_beside_them_alone(
    run: RunFiles, kinds: tuple[str, ...], strange: list[str]
) -> None:
    log(run, "n2", "whatever")
    lost = read_defects(SUITES / "defects" / "bookkeeper.toml")["lost-entries"]
    found = [Violation("ledgers", kind) for kind in kinds]
    assert [one.kind for one in unexplained(found, [lost], run, (), kinds)] == strange


def test_a_run_names_the_known_defects_whose_marks_it_bears_and_what_none_explains(run: RunFiles) -> None:
    """n3 has the marks, n2 of the same violation has none; and nobody knows the kind of another violation."""
    log(run, "n1", *["[Push-n3]Reset write index"] * 3)
    run.results.write_text(json.dumps({"receipts": []}))
    both, new = replace(N3, nodes=("n2", "n3")), Violation("linearizable", "stale-read")
    known, strange = known_in(read(run), [CUT, replace_why(STUCK, "docs/findings.md")], [both, new])
    assert known == (KnownDefect(name="stuck", kinds=("no-recovery",), why="docs/findings.md"),)
    assert known_defect_text(known[0]) == "Matches the known defect stuck (no-recovery): docs/findings.md"
    told = known_defect_text(struct_replace(known[0], why="docs/findings.md: it waits"))
    assert told == "Matches the known defect stuck (no-recovery): it waits. See docs/findings.md"
    assert strange == ("no-recovery", "stale-read")
    assert known_in(read(run), [STUCK], [N3])[1] == ()


def replace_why(defect: Defect, why: str) -> Defect:
    return struct_replace(defect, why=why)


def test_known_defects_are_found_by_the_name_of_their_system() -> None:
    path = defects_of("dledger")
    assert path is not None
    assert "deleted-logs" in read_defects(path)
    assert defects_of("nobody") is None


def test_every_file_of_defects_is_found_by_a_system() -> None:
    found = {defects_of(name) for name in system_names()}
    assert {path.name for path in (SUITES / "defects").glob("*.toml")} == {path.name for path in found if path}


@pytest.mark.parametrize(("version", "known"), [("12.3", True), ("12.10", False), ("18.6", False)])
def test_a_cycle_of_postgresql_is_known_where_a_later_version_fixes_it(
    run: RunFiles, version: str, known: bool
) -> None:
    path = defects_of("postgresql")
    assert path is not None
    run.plan.write_text(json.dumps({"system": "postgresql", "version": version, "workload": "list-append"}))
    cycle = Violation("isolation", "G2-item")
    assert [bool(read_defects(path)[name].explains(cycle, read(run), (), ())) for name in read_defects(path)] == [known]
