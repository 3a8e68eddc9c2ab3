"""Suite files: matrices become cells, and whatever is wrong is refused in one line before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.main import run_command
from harness.errors import UsageError
from harness.suite.cells import Cell, Shard, seed_of
from harness.suite.suitefile import length_s, read_suite

MATRIX = "[[matrix]]\nnemesis = 'bridge'\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "toy.toml"
    path.write_text(text)
    return path


def cells(tmp_path: Path, text: str, seed: int = 1) -> list[Cell]:
    return read_suite(write(tmp_path, text)).cells(seed, "netns:x")


def test_a_list_is_an_axis_and_the_last_one_changes_fastest(tmp_path: Path) -> None:
    found = cells(
        tmp_path,
        "[defaults]\nrate = 50\n[[matrix]]\nnemesis = ['bridge', 'hammer-time,bridge']\nversion = ['0.3.2', '0.4.0']\n",
    )
    assert [(cell.plan.nemesis, cell.plan.version) for cell in found] == [
        (("bridge",), "0.3.2"), (("bridge",), "0.4.0"),
        (("hammer-time", "bridge"), "0.3.2"), (("hammer-time", "bridge"), "0.4.0"),
    ]  # fmt: skip
    assert {(cell.plan.rate, cell.plan.cluster) for cell in found} == {(50.0, "netns:x")}
    assert all(cell.expected.verdicts == ("valid",) for cell in found)
    assert len({cell.name for cell in found}) == 4


def test_cells_are_judged_through_spark_by_their_size_unless_the_file_or_the_caller_says(tmp_path: Path) -> None:
    text = MATRIX + "time_limit = [60, 7200]\n"
    assert [cell.plan.spark for cell in cells(tmp_path, text)] == [False, True]
    assert [cell.plan.spark for cell in cells(tmp_path, "[defaults]\nspark = true\n" + text)] == [True, True]
    suite = read_suite(write(tmp_path, text))
    assert {cell.plan.spark for cell in suite.cells(1, "netns", {"spark": False})} == {False}


def test_excluded_combinations_are_no_cells(tmp_path: Path) -> None:
    text = MATRIX + "version = ['0.3.2', '0.4.0']\nsnapshot = [false, true]\n"
    with pytest.raises(UsageError, match=r"cell register-bridge-0.3.2-snapshot: --snapshot needs"):
        cells(tmp_path, text)
    found = cells(tmp_path, text + "exclude = [{version = '0.3.2', snapshot = true}]\n")
    assert [(cell.plan.version, cell.plan.options["snapshot"]) for cell in found] == [
        ("0.3.2", False), ("0.4.0", False), ("0.4.0", True),
    ]  # fmt: skip


def test_the_later_override_wins_and_only_where_it_fits(tmp_path: Path) -> None:
    plain, known, quick = cells(
        tmp_path,
        "[[matrix]]\nnemesis = ['bridge', 'hammer-time', 'kill-leader']\nversion = '0.4.0'\n"
        "[[matrix.override]]\nwhere = {nemesis = ['hammer-time', 'kill-leader']}\nexpect = 'invalid'\n"
        "kinds = ['no-recovery']\nwhy = 'found'\ntime_limit = 40\n"
        "[[matrix.override]]\nwhere = {nemesis = 'kill-leader'}\nexpect = ['valid', 'invalid']\nskip = 'slow'\n",
    )
    assert (plain.expected.words(), plain.plan.time_limit) == ("valid", 60.0)
    assert (known.expected.words(), known.plan.time_limit) == ("invalid (no-recovery)", 40.0)
    assert (quick.expected.words(), quick.skip) == ("sometimes invalid (no-recovery), else valid", "slow")
    assert quick.expected.why == "found"


def test_seeds_are_given_repeated_or_drawn_from_the_suites(tmp_path: Path) -> None:
    given = cells(tmp_path, MATRIX + "seed = [7, 8]\nrepeat = 2\n")
    assert [cell.plan.seed for cell in given] == [7, 8, 7 + 1_000_003, 8 + 1_000_003]
    drawn = cells(tmp_path, MATRIX + "repeat = 2\n", seed=5)
    assert [cell.plan.seed for cell in drawn] == [seed_of(5, cell.name) for cell in drawn]
    assert drawn == cells(tmp_path, MATRIX + "repeat = 2\n", seed=5)
    others = cells(tmp_path, MATRIX + "repeat = 2\n", seed=6)
    assert len({cell.plan.seed for cell in [*drawn, *others]}) == 4


def test_another_cell_shifts_no_other_seed(tmp_path: Path) -> None:
    one = cells(tmp_path, MATRIX)
    two = cells(tmp_path, MATRIX.replace("'bridge'", "['hammer-time', 'bridge']"))
    assert one[0].plan.seed == two[1].plan.seed


def test_cells_survive_json(tmp_path: Path) -> None:
    for cell in cells(tmp_path, MATRIX + "expect = 'invalid'\nkinds = ['no-recovery']\nwhy = 'x'\n"):
        assert Cell.from_json(cell.to_json()) == cell


SCRIPT = "[[fault]]\nname = 'kill-leader'\nat = 30.0\nfor = 8.0\n"


def test_a_script_is_looked_for_beside_the_suite(tmp_path: Path) -> None:
    (tmp_path / "kills.toml").write_text(SCRIPT)
    (one,) = cells(tmp_path, "[[matrix]]\nname = 'known'\nschedule = 'kills.toml'\nversion = '0.4.0'\n")
    assert (one.name, one.script) == ("known: register-kill-leader-0.4.0", str(tmp_path / "kills.toml"))
    assert {step["fault"] for step in one.plan.schedule} == {"kill-leader"}
    assert Cell.from_json(one.to_json()) == one


def test_a_script_that_does_not_fit_into_shorter_runs_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "kills.toml").write_text(SCRIPT)
    suite = read_suite(write(tmp_path, "[[matrix]]\nname = 'known'\nschedule = 'kills.toml'\n" + MATRIX))
    known, plain = suite.cells(1, "netns:x", {"time_limit": 12.0, "interval": 3.0})
    assert known.skip.startswith("does not fit: --schedule")
    assert plain.skip == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "matrix is missing: it must be a list of tables (at least one)"),
        (MATRIX + "schedule = 'x.toml'", "nemesis and schedule cannot be combined"),
        ("[[matrix]]\nschedule = 'x.toml'", "x.toml: No such file"),
        ("[[matrix]]\nschedule = 'toy.toml'", "matrix[0]: --schedule"),
        ("matrix = 5", "matrix must be a list of tables"),
        ("[[matrix]", "not TOML"),
        ("retrys = 1\n" + MATRIX, "there is no key 'retrys'; did you mean retries?"),
        ("retries = -1\n" + MATRIX, "retries must be a whole number from 0 to 5, not -1"),
        ("retries = true\n" + MATRIX, "retries must be a whole number"),
        ("on_failure = 'halt'\n" + MATRIX, "on_failure must be one of 'continue', 'stop', not 'halt'"),
        ("budget = '3 hours'\n" + MATRIX, "budget must be a length of time such as '2h50m'"),
        ("budget = 0\n" + MATRIX, "budget must be a length of time"),
        ("[defaults]\nrates = 5\n" + MATRIX, "defaults: there is no key 'rates'; did you mean rate"),
        (
            "[defaults]\nrate = [5, 6]\n" + MATRIX,
            "defaults.rate must be a number above 0 and at most 1",
        ),
        ("[[matrix]]\nnemsis = 'bridge'", "matrix[0]: there is no key 'nemsis'; did you mean nemesis"),
        ("[[matrix]]\nname = 'a'\nnemesis = []", "matrix[0].nemesis must be a string like that of --nemesis"),
        ("[[matrix]]\nnemesis = 'brigde'", "there is no nemesis 'brigde'; did you mean bridge"),
        ("[[matrix]]\nnemesis = 5", "matrix[0].nemesis must be a string like that of --nemesis"),
        (
            "[[matrix]]\nversion = '0.5'",
            "matrix[0].version must be one of '0.3.2', '0.4.0', ",
        ),
        (
            "[[matrix]]\nworkload = 'queue'",
            "matrix[0].workload must be one of 'append-log', 'bank', 'cas-register', ",
        ),
        ("[[matrix]]\nrate = true", "rate must be a number above 0 and at most 10000, or a list of such, not True"),
        ("[[matrix]]\nkeys = 2.5", "keys must be a whole number from 1 to 10000, or a list of such, not 2.5"),
        ("[[matrix]]\nsnapshot = 'yes'", "snapshot must be true or false"),
        ("[[matrix]]\ncluster = 'netns'", "there is no key 'cluster'"),
        ("[[matrix]]\nseed = 'x'", "seed must be a whole number from 0 on"),
        ("[[matrix]]\nseed = []", "seed must be a whole number from 0 on"),
        ("[[matrix]]\nrepeat = 0", "repeat must be a whole number from 1 to 1000, not 0"),
        ("[[matrix]]\nrate = [50, 50]", "appears twice; give one of its matrices a name"),
        (MATRIX + MATRIX, "the cell register-bridge-0.4.0 appears twice"),
        ("[[matrix]]\nnodes = [3, 5]", "nodes must be the same in all of them"),
        (
            "[[matrix]]\nexpect = 'wrong'",
            "expect must be one of 'invalid', 'unknown', 'valid', or a list of such, n",
        ),
        ("[[matrix]]\nexpect = []", "matrix[0].expect must be one of"),
        ("[[matrix]]\nexpect = 'invalid'", "otherwise any violation would pass"),
        ("[[matrix]]\nexpect = 'unknown'", "a cell that expects only 'unknown' proves nothing"),
        ("[[matrix]]\nexclude = [{version = '0.4.0'}]", "the matrix has no cell"),
        ("[[matrix]]\nexclude = [{version = '0.3.2'}]", "matrix[0].exclude[0]: matches no cell of its matrix"),
        ("[[matrix]]\nexclude = [{}]", "matrix[0].exclude[0]: names no option"),
        ("[[matrix]]\n[[matrix.override]]\nwhere = {}", "matrix[0].override[0].where: names no option"),
        (
            "[[matrix]]\n[[matrix.override]]\nwhere = {keys = 5}\nexpect = 'unknown'",
            "a cell that expects only 'unknown' proves nothing",
        ),
        ("[[matrix]]\nnemesis = 'a,,b'", "without empty parts between commas"),
        ("[[matrix]]\nkeys = [1, 0]", "matrix[0].keys[1] must be a whole number from 1 to 10000, not 0: "),
        ("[[matrix]]\n[[matrix.override]]\nrate = 5", "matrix[0].override[0].where is missing: it must be a table"),
        ("[[matrix]]\n[[matrix.override]]\nwhere = {rate = 5}", "matrix[0].override[0].where: matches no cell"),
        (
            "[[matrix]]\n[[matrix.override]]\nwhere = {keys = 5}\nrates = 5",
            "override[0]: there is no key 'rates'",
        ),
        ("[[matrix]]\nplanted_bug = 'stale-reads'", "add --unsafe-test-mode"),
        ("[[matrix]]\nnemesis = 'bridge'\ntime_limit = 5", "--time-limit 5 leaves no room"),
    ],
)
def test_what_is_wrong_is_named_with_its_mend_before_anything_starts(
    tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    assert run_command(["suite", str(path)]) == 254
    said = capsys.readouterr().err
    assert message in said
    assert str(path) in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["suite", str(tmp_path / "none.toml")]) == 254
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "seconds"), [("2h50m", 10200), ("90m", 5400), ("100s", 100), ("1h2m3s", 3723)])
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert length_s(text, "x") == seconds


@pytest.mark.parametrize("text", ["", "0s", "5", "1d", "-5m", "5m1h", "1.5h"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(UsageError, match="x must be a length of time"):
        length_s(text, "x")


def test_shards_share_the_cells_and_leave_none_out(tmp_path: Path) -> None:
    all_cells = cells(tmp_path, MATRIX + "repeat = 7\n")
    parts = [Shard(number, 3).of(all_cells) for number in (1, 2, 3)]
    assert [len(part) for part in parts] == [3, 2, 2]
    assert sorted(cell.name for part in parts for cell in part) == sorted(cell.name for cell in all_cells)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "1/2/3", "-1/2"])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(UsageError, match="expected I/N with I from 1 to N"):
        Shard.parse(text)
