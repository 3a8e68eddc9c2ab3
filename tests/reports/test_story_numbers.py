"""Every number of the story on top of every recorded run is held against the raw files; one that is not is an error.

The code below reads history, probes, logs and recorded counterexamples by json alone.  Each claim is a pattern with a
check of its own; what a checked claim says is struck out, and no number may be left.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from history import RunFiles
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.story.aftermath import outages_text
from reports.story.diagnosis import diagnosis_of
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import RUNS, recorded_run

WHEN = r"(?P<at>\d+\.\d) s(?:, (?P<off>\d+\.\d) s (?P<rel>into|after) #(?P<id>\d+) (?P<fault>[\w-]+)(?: was healed)?)?"
NAME = re.compile(r"\b(?:n|k|l|lock-|broker-)\d+\b")
Claim = Callable[[Raw, re.Match[str]], None]


def close(text: str, value: float, room: float = 0.06) -> bool:
    return abs(float(text) - value) <= room


def number(text: str) -> int:
    return int(text.replace(",", ""))


def assert_placed(raw: Raw, match: re.Match[str], moment: float) -> None:
    """The moment is this one, and lies in or after the fault as is said."""
    assert close(match["at"], moment), (match["at"], moment)
    raw.told[match["at"]] = moment
    if match["id"] is None:
        return
    name, began, healed = raw.fault(int(match["id"]))
    assert name == match["fault"]
    assert close(match["off"], moment - (began if match["rel"] == "into" else healed), 0.11)
    assert (began <= moment <= healed) == (match["rel"] == "into")


# -- logs and replicas ------------------------------------------------------------------------------------------------


def deleted(raw: Raw, match: re.Match[str]) -> None:
    falls = raw.falls()
    assert match["node"] == falls[0][1]
    assert_placed(raw, match, falls[0][0])


def short_logs(raw: Raw, match: re.Match[str]) -> None:
    highest = max(probe["committed"] for probe in raw.answers)
    assert number(match["highest"]) == highest
    ends = {node: raw.of(node)[-1]["ledger_end"] for node in raw.nodes}
    told = {node: number(end) for node, end in re.findall(r"(n\d+) at ([\d,]*\d)", match[0])}
    assert told == {node: end for node, end in ends.items() if end < highest}


def no_commits(raw: Raw, match: re.Match[str]) -> None:
    # Nothing was committed when a node learned again, after a restart, what the cluster had committed long before.
    highest = max(probe["committed"] for probe in raw.answers)
    last = min(probe["time"] for probe in raw.answers if probe["committed"] == highest) / S
    assert_placed(raw, match, last)
    assert close(match["later"], raw.end - last)
    up = [node for node in raw.nodes if raw.of(node)[-1]["time"] / S > raw.end - 3]
    assert (int(match["up"]), int(match["of"])) == (len(up), len(raw.nodes))


def stopped(raw: Raw, match: re.Match[str]) -> None:
    behind = [node for node in raw.nodes if raw.end - raw.last_rise(node, "applied") > 10]
    assert (int(match["some"]), int(match["all"])) == (len(behind), len(raw.nodes))
    moments = [raw.last_rise(node, "applied") for node in behind]
    assert_placed(raw, match, min(moments))
    assert close(match["last"] or match["at"], max(moments))
    told = {node: number(index) for node, index in re.findall(r"(n\d+) at ([\d,]*\d)", match["stand"])}
    assert told == {node: raw.of(node)[-1]["applied"] for node in behind}
    assert number(match["target"]) == max(probe["committed"] for probe in raw.answers)


# -- registers: a read is stale if a write replaced its value and ended before it began ------------------


def stale_reads(raw: Raw) -> list[dict[str, Any]]:
    every = [one for one in raw.operations() if one["type"] != "fail"]
    writes = {(one["key"], one["value"]): one for one in every if one["f"] == "write"}
    found = []
    for read in every:
        if read["f"] != "read" or read["type"] != "ok":
            continue
        made = writes.get((read["key"], read["result"]))
        over = made["end"] if made else 0.0
        newer = (w for (key, _), w in writes.items() if key == read["key"] and w is not made and w["end"])
        if over is not None and any(over < w["begin"] and w["end"] < read["begin"] for w in newer):
            found.append(read)
    return found


def first_stale(raw: Raw, match: re.Match[str]) -> None:
    process, node, began = int(match["reader"]), match["node"], float(match["began"])
    (read,) = [
        one
        for one in stale_reads(raw)
        if (one["process"], one["node"]) == (process, node) and abs(one["begin"] - began) < 0.0006
    ]
    assert (read["key"], read["result"]) == (match["key"], None), "absent at the start, and again"
    (write,) = [
        one
        for one in raw.operations()
        if one["f"] == "write" and (one["key"], str(one["value"])) == (read["key"], match["wrote"])
    ]
    assert (write["process"], write["node"], write["type"]) == (int(match["writer"]), match["by"], "ok")
    assert close(match["from"], write["begin"], 0.0006)
    assert close(match["to"], write["end"], 0.0006)
    assert write["end"] < read["begin"]
    assert match["missed"] == match["wrote"]
    others = [one for one in raw.operations() if one["f"] == "write" and one["key"] == read["key"]]
    assert any(one["end"] is None or one["end"] > write["begin"] for one in others if one is not write)


def counted(raw: Raw, match: re.Match[str]) -> None:
    """How many violations the results have, and when the first of their answers came."""
    shown = [one for key in raw.results["keys"] for one in key["counterexamples"]]
    count = sum(key["violations"] for key in raw.results["keys"])
    for check in raw.results["checks"]:
        details = check.get("details") or {}
        if check["verdict"] == "invalid" and not count:
            shown += details.get("counterexamples") or []
            count += details.get("violations") or 0
    if raw.header["model"] == "register":
        # Reads that contradict the same operations by the same answer are one violation.
        assert 0 < count <= len(stale_reads(raw))
        first = min(one["end"] for one in stale_reads(raw))
    else:
        first = min(answer_of(one) for one in shown)
    assert number(match["count"] or "1") == count
    assert_placed(raw, match, first)


def answer_of(example: dict[str, Any]) -> float:
    """When the last of a counterexample's operations that were answered was answered: those of its suspect."""
    suspects = (example.get("linearization") or {}).get("suspects") or []
    operations = example["operations"]
    mine = [operations[place] for place in suspects] or [one for one in operations if one["outcome"] == "ok"]
    return float(max(one["returned"] for one in mine)) / S


# -- ledgers ----------------------------------------------------------------------------------------------------------


def unreadable(raw: Raw, match: re.Match[str]) -> None:
    said = {}
    for name in ("adder", "reader"):
        process, node = int(match[name]), match[f"{name}_node"]
        found = [
            one
            for one in raw.operations()
            if (one["process"], one["node"]) == (process, node)
            and close(match[f"{name}_from"], one["begin"], 0.0006)
            and close(match[f"{name}_to"], one["end"], 0.0006)
        ]
        assert len(found) == 1, (name, found)
        said[name] = found[0]
    entry = int(match["id"])
    add, read = said["adder"], said["reader"]
    assert add["key"] == read["key"] == match["key"]
    assert add["result"][add["value"].index(int(match["value"]))] == entry
    assert read["result"]["last"] >= entry
    assert read["result"]["entries"][entry] is None


# -- sets -------------------------------------------------------------------------------------------------------------


def elements_missed(raw: Raw, read: dict[str, Any]) -> list[int]:
    adds = [one for one in raw.operations() if one["f"] == "add" and one["type"] == "ok"]
    return sorted(one["value"] for one in adds if one["end"] < read["begin"] and one["value"] not in read["result"])


def final_read(raw: Raw, process: str, node: str, began: str = "") -> dict[str, Any]:
    reads = [one for one in raw.operations() if one["f"] == "read" and one["type"] == "ok" and one["phase"] == "final"]
    mine = [one for one in reads if (one["process"], one["node"]) == (int(process), node)]
    mine = [one for one in mine if not began or close(began, one["begin"], 0.0006)]
    assert mine
    return mine[-1]


def lacks(raw: Raw, match: re.Match[str]) -> None:
    missed = elements_missed(raw, final_read(raw, match["process"], match["node"]))
    assert int(match["count"]) == len(missed)
    assert [int(one) for one in match["first"].split(", ")] == missed[:3]


def lost(raw: Raw, match: re.Match[str]) -> None:
    element = int(match["element"])
    assert {match["answered"], match["unseen"]} == {match["element"]}
    (add,) = [one for one in raw.operations() if one["f"] == "add" and one["value"] == element]
    assert (add["process"], add["node"], add["type"], add["result"]) == (
        int(match["adder"]), match["adder_node"], "ok", element,
    )  # fmt: skip
    assert close(match["from"], add["begin"], 0.0006)
    assert close(match["to"], add["end"], 0.0006)
    read = final_read(raw, match["reader"], match["node"], match["began"])
    assert element in elements_missed(raw, read)
    later = [
        one for one in raw.operations() if one["f"] == "read" and one["type"] == "ok" and one["end"] > read["begin"]
    ]
    nodes = {one["node"] for one in later}
    assert re.findall(r"n\d+", match["holding"]) == sorted(
        node for node in nodes if all(element in one["result"] for one in later if one["node"] == node)
    )


def logged(raw: Raw, match: re.Match[str]) -> None:
    started = datetime.fromisoformat(raw.header["started"]).replace(tzinfo=None)
    found = []
    for path in sorted((raw.root / "nodes" / match["node"]).glob("*.log")):
        for line in path.read_text().splitlines():
            if match["words"] in line:
                stamp = re.match(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[.,](\d{3})", line)
                assert stamp is not None, line
                moment = datetime.fromisoformat(f"{stamp[1]}.{stamp[2]}")
                found.append((moment - started).total_seconds())
    assert len(found) == 1, "once"
    assert_placed(raw, match, found[0])


# -- sync state sets: which states the object can have had ------------------------------------------------------------


def epochs(raw: Raw, match: re.Match[str]) -> None:
    """The read, and of each state that is named that somebody asked for it, at an epoch that was free until then."""
    every = raw.operations()
    (read,) = [
        one
        for one in every
        if (one["process"], one["node"], one["f"]) == (int(match["process"]), match["node"], "read")
        and close(match["from"], one["begin"], 0.00006)
        and close(match["to"], one["end"], 0.00006)
    ]
    state = r"master (\d+) of epoch (\d+), sync state set (\[[\d, ]*\]) of epoch (\d+)"
    (said,) = re.findall(state, match["said"])
    assert [int(said[0]), int(said[1]), eval_list(said[2]), int(said[3])] == read["result"]
    before = [one for one in every if one["begin"] < read["end"] and one["f"] in ("alter", "elect")]
    could = re.findall(state, match["could"])
    assert could
    for master, elected_in, members, epoch in could:  # an alter names the epoch before it
        wanted = [int(master), int(elected_in), int(epoch) - 1, eval_list(members)]
        assert any(one["value"] == wanted for one in before if one["f"] == "alter"), wanted
    examples = [one for key in raw.results["keys"] for one in key["counterexamples"]]
    assert int(match["beside"]) in [len(one["operations"]) - 1 for one in examples]


def eval_list(text: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", text)]


# -- what came then ---------------------------------------------------------------------------------------------------


def rates(raw: Raw, match: re.Match[str]) -> None:
    onset, served, load = raw.told[match["onset"]], raw.served(), raw.asked(final=False)
    assert close(match["before"], sum(at < onset for at in served) / (onset - load[0]))
    assert close(match["since"], sum(onset <= at <= load[-1] for at in served) / (load[-1] - onset))
    assert close(match["from"], load[0])
    assert close(match["until"], load[-1])


def elected(raw: Raw, match: re.Match[str]) -> None:
    onset = raw.told[match["onset"]]
    leading = [probe for probe in raw.answers if probe["role"] == "leader"]
    led = {(p["node"], p["term"]) for p in leading if p["time"] / S >= onset}
    led -= {(p["node"], p["term"]) for p in leading if p["time"] / S < onset}
    assert (0 if match["new"] in ("No", "no") else int(match["new"])) == len(led)
    assert match["node"] == max(leading, key=lambda p: (p["term"], p["time"]))["node"]


def unserved(raw: Raw, match: re.Match[str]) -> None:
    assert close(match["since"], max(raw.served()))
    assert close(match["until"], max(raw.asked(final=True)))


PROCESS = r"process (?P<{0}>\d+) on (?P<{0}_node>n\d+) \((?P<{0}_from>[\d.]+)-(?P<{0}_to>[\d.]+) s\)"
CLAIMS: list[tuple[str, Claim]] = [
    (rf"first on (?P<node>n\d+) by {WHEN}", deleted),
    (
        r"of (?P<highest>[\d,]+) that were committed, at the end logs end earlier on (?:n\d+ at [\d,]*\d(?:, )?)+",
        short_logs,
    ),
    (
        (
            rf"Nothing was committed from {WHEN}, to the end \((?P<later>[\d.]+) s later\); "
            r"(?P<up>\d+) of (?P<of>\d+) nodes"
        ),
        no_commits,
    ),
    (
        (
            rf"(?P<some>\d+) of (?P<all>\d+) replicas stopped applying at {WHEN}(?:, the last at (?P<last>[\d.]+) s)?, "
            r"and never resumed: (?P<stand>.*?), "
            r"of (?P<target>[\d,]+) that were committed"
        ),
        stopped,
    ),
    (
        (
            r"(?P<key>k\d+) was absent at the start, and was so again at (?P<began>[\d.]+) s or later \(when process "
            r"(?P<reader>\d+) on (?P<node>n\d+) began a read that returned absent\)\. In between, process "
            r"(?P<writer>\d+) on (?P<by>n\d+) wrote (?P<wrote>\d+) \((?P<from>[\d.]+)–(?P<to>[\d.]+) s, acknowledged"
            r"\), so absent cannot be current again: that answer missed the write of "
            r"(?P<missed>\d+), which others may have overwritten since"
        ),
        first_stale,
    ),
    (rf"\((?:(?P<count>[\d,]+) violations, the first )?answered at {WHEN}", counted),
    (
        (
            r"ledger (?P<key>l\d+): (?P<value>\d+) was acknowledged with id (?P<id>\d+) \(the window of "
            rf"{PROCESS.format('adder')}\), and no replica has it for the last read of {PROCESS.format('reader')}"
        ),
        unreadable,
    ),
    (
        (
            r"the read of process (?P<process>\d+) on (?P<node>n\d+) does not hold (?P<count>\d+) elements: "
            r"(?P<first>\d+, \d+, \d+), …"
        ),
        lacks,
    ),
    (
        (
            r"process (?P<adder>\d+) on (?P<adder_node>n\d+) added (?P<element>\d+) and was answered (?P<answered>\d+) "
            r"\((?P<from>[\d.]+)–(?P<to>[\d.]+) s\) on set, acknowledged\. But process (?P<reader>\d+) "
            r"on (?P<node>n\d+) began a read at (?P<began>[\d.]+) s that did not see (?P<unseen>\d+): a lost element"
            r"(?=.*Reads answered by (?P<holding>.*) then or later hold it)"
        ),
        lost,
    ),
    (rf"once '(?P<words>[^']+)' on (?P<node>n\d+) \([^)]*\); first seen at {WHEN}", logged),
    (
        (
            r"process (?P<process>\d+) on (?P<node>n\d+): read: (?P<said>.*?) "
            r"\((?P<from>[\d.]+)–(?P<to>[\d.]+) s\), but \S+ could only be (?P<could>.*?) by then, given "
            r"the (?P<beside>\d+) operations beside it"
        ),
        epochs,
    ),
    (
        (
            r"(?P<before>[\d.]+) operations a second succeeded from the load's beginning at (?P<from>[\d.]+) s to "
            r"(?P<onset>[\d.]+) s, (?P<since>[\d.]+) from then until the load ended at (?P<until>[\d.]+) s"
        ),
        rates,
    ),
    (r"(?P<new>\d+|[Nn]o) new leaders? since (?P<onset>[\d.]+) s, at the end (?P<node>n\d+) led", elected),
    (
        r"No operation succeeded after (?P<since>[\d.]+) s, though clients asked until (?P<until>[\d.]+) s",
        unserved,
    ),
]


def story(root: Path) -> list[str]:
    """The sentences on top of the page."""
    drawn = prepare(read_run(RunFiles(root)))
    found = diagnosis_of(drawn)
    outage = outages_text(drawn)
    if found is None:
        return [outage]
    return [*(one.text for one in found.breaks), found.after, found.step, outage]


def unchecked(raw: Raw, text: str) -> list[str]:
    """Check every claim in a sentence; the numbers that none covers."""
    for pattern, claim in CLAIMS:
        for match in re.finditer(pattern, text):
            claim(raw, match)
        text = re.sub(pattern, " ", text)
    return re.findall(r"\d[\d.,]*", NAME.sub("", text))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    below = tmp_path_factory.mktemp("recorded")
    return {name: recorded_run(name, below) for name in RUNS}


@pytest.mark.parametrize("name", RUNS)
def test_every_number_of_the_story_is_what_the_raw_files_say(runs: dict[str, Path], name: str) -> None:
    raw = Raw(runs[name])
    for sentence in story(runs[name]):
        assert unchecked(raw, sentence) == [], sentence


@pytest.mark.parametrize("name", RUNS)
def test_a_number_that_is_wrong_is_noticed(runs: dict[str, Path], name: str) -> None:
    """Each number of each story with another last digit."""
    raw, sentences = Raw(runs[name]), story(runs[name])
    for sentence in sentences:
        unchecked(raw, sentence)
    told = dict(raw.told)
    for sentence in sentences:
        plain = NAME.sub(lambda found: "x" * len(found[0]), sentence)
        for figure in re.finditer(r"(?<!\w)\d[\d.,]*", plain):
            last = figure.start() + len(figure[0].rstrip(".,")) - 1
            other = f"{sentence[:last]}{(int(sentence[last]) + 5) % 10}{sentence[last + 1 :]}"
            raw.told = dict(told)
            try:
                left = unchecked(raw, other)
            except (AssertionError, ValueError, LookupError, TypeError):
                continue
            assert left, other


def test_a_number_that_nothing_checks_is_noticed(runs: dict[str, Path]) -> None:
    raw = Raw(runs["data-lost"])
    for text in ("7 of 8 logs were cut.", "At 3.1 s n1 led.", "n1 at 5,000 fell behind"):
        assert unchecked(raw, text)
    assert unchecked(raw, "n1 and k2 and broker-0 are names") == []
