"""``harness report FILE``: the page of a history of another tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.main import run_command

SECOND = 1_000_000_000


def edn(answer: str) -> str:
    rows = [
        ("invoke", "write", "3", "0"), ("ok", "write", "3", "0"),
        ("info", "start-partition", "nil", ":nemesis"), ("info", "start-partition", "[:isolated n1]", ":nemesis"),
        ("invoke", "read", "nil", "1"), ("ok", "read", answer, "1"),
        ("info", "stop-partition", "nil", ":nemesis"), ("info", "stop-partition", "nil", ":nemesis"),
    ]  # fmt: skip
    return "".join(
        f"{{:type :{type_}, :f :{f}, :value {value}, :process {process}, :time {place * SECOND}, :index {place}}}\n"
        for place, (type_, f, value, process) in enumerate(rows)
    )


@pytest.mark.parametrize(("answer", "word"), [("3", "Valid"), ("4", "Invalid")])
def test_the_page_of_a_file(answer: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history.edn"
    path.write_text(edn(answer))
    assert run_command(["report", str(path)]) == 0
    page = tmp_path / "history.edn.report.html"
    assert capsys.readouterr().out.strip() == str(page)
    text = page.read_text()
    assert word in text.partition("</h1>")[0]
    assert "start-partition" in text
    assert ("never-written" in text) == (word == "Invalid")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["history.edn", "history.edn.report.html"]


def test_a_history_that_no_model_judges_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"format":"harness-history","version":1,"model":null}\n')
    assert run_command(["report", str(path)]) == 254
    assert "judges this history, not a model" in capsys.readouterr().err


def test_a_directory_of_jepsens_store_gets_its_page_and_the_comparison(tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text(edn("4"))
    (tmp_path / "results.edn").write_text("{:valid? true}")
    assert run_command(["report", str(tmp_path)]) == 0
    assert "results.edn says valid; the harness says invalid" in (tmp_path / "report.html").read_text()


def test_a_log_without_times_is_drawn_by_the_order_of_its_events(tmp_path: Path) -> None:
    path = tmp_path / "history.txt"
    path.write_text(
        "0\t:invoke\t:write\t3\n:nemesis\t:info\t:kill\tnil\n0\t:ok\t:write\t3\n1\t:invoke\t:read\tnil\n1\t:ok\t:read\t4\n"
    )
    assert run_command(["report", str(path)]) == 0
    text = (tmp_path / "history.txt.report.html").read_text()
    assert "the file has no times" in text
    assert "0.004 s" in text


def test_options_are_those_of_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page = tmp_path / "history.edn", tmp_path / "page.html"
    path.write_text("{:type :invoke :f :acquire :process 0}{:type :ok :f :acquire :process 0}")
    assert run_command(["report", str(path), "-o", str(page)]) == 254
    assert "line 1: a register has no operation 'acquire'" in capsys.readouterr().err
    assert run_command(["report", str(path), "-o", str(page), "--model", "mutex", "--initial", "held"]) == 0
    assert "process -1" in page.read_text()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "history.jsonl").write_text('{"format":"harness-history","version":1}\n')
    assert run_command(["report", "--model", "mutex", str(tmp_path / "run")]) == 254
    assert "--model: only for history files" in capsys.readouterr().err
