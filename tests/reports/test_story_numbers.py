"""Every number of the story on top of every recorded run is held against the raw files; one that is not is an error.

The claims (``tests.support.reports.claims``) read history, probes, logs and recorded counterexamples by json alone.
Each is a pattern with a check of its own; what a checked claim says is struck out, and no number may be left.
"""

from __future__ import annotations

import json
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from history import RunFiles
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.story.aftermath import outages_text
from reports.story.diagnosis import diagnosis_of
from tests.support.reports.claims import (
    WHEN,
    Claim,
    alarm_before,
    alarms,
    at_snapshots,
    deleted,
    elected,
    fell_behind,
    fewest_logs,
    first_behind,
    first_short,
    led_with,
    led_without,
    no_commits,
    outages,
    rates,
    repeated,
    short_logs,
    stopped,
    unserved,
    without_quorum,
)
from tests.support.reports.claims_of_objects import (
    added,
    answered,
    counted,
    epoch_skipped,
    epochs,
    first_stale,
    granted_twice,
    losses,
    lost,
    unreadable,
)
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import RUNS, recorded_run

NAME = re.compile(r"\b(?:n|k|l|lock-|broker-)\d+\b")
PROCESS = r"process (?P<{0}>\d+) on (?P<{0}_node>n\d+) \((?P<{0}_from>[\d.]+)-(?P<{0}_to>[\d.]+) s\)"
CLAIMS: list[tuple[str, Claim]] = [
    (rf"first on (?P<node>n\d+) by {WHEN}", deleted),
    (
        (
            r"Logs of (?P<there>n\d+(?:(?:, | and )n\d+)*) reach (?P<index>[\d,]*\d) at the end"
            r"(?:, though (?P<late>they|n\d+(?:(?:, | and )n\d+)*) had applied less)?; those of others end before it: "
            r"(?:n\d+ at [\d,]*\d(?:, )?)+"
        ),
        short_logs,
    ),
    (
        (
            r"(?P<node>n\d+), which led by (?P<at>[\d.]+) s with a log that ended at (?P<end>[\d,]+), though "
            r"(?P<committed>[\d,]+) had been committed"
        ),
        led_with,
    ),
    (rf"(?P<node>n\d+) led without some of them by {WHEN}, and at the end", led_without),
    (
        r"at (?P<at>[\d.]+) s (?P<some>\d+) of (?P<of>\d+) did: (?P<names>n\d+(?:, n\d+)*)",
        fewest_logs,
    ),
    (
        (
            rf"Nothing was committed from {WHEN}, to the end \((?P<later>[\d.]+) s later\)\. "
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
    (
        (
            rf"n\d+ lacks [\d,]+ acknowledged elements?, seen since {WHEN}"
            r"(?:; n\d+ lacks [\d,]+, seen since [\d.]+ s)*\. The last read of another node holds every one of them"
        ),
        losses,
    ),
    (
        (
            r"[Ww]hat (?P<node>n\d+) lacks (?:was acknowledged )?from (?P<from>[\d.]+) s(?:, (?P<off>[\d.]+) s into "
            r"#(?P<id>\d+) (?P<fault>[\w-]+),)? to (?P<to>[\d.]+) s by (?P<by>n\d+(?:(?:, | and )n\d+)*), when "
            r"(?P<silent>n\d+) answered no probe, under #(?P<under>\d+) (?P<struck>[\w-]+)"
        ),
        added,
    ),
    (r"(?P<node>n\d+)'s own log has an alarm before that read, at (?P<at>[\d.]+) s", alarm_before),
    (
        r"n\d+(?: and n\d+)* stopped where a snapshot from the leader had put (?:them|it) \((?P<stops>[^)]*)\)",
        at_snapshots,
    ),
    (
        (
            r"[Uu]nder #(?P<id>\d+) (?P<fault>[\w-]+) leader (?P<leader>n\d+) reached (?P<reached>[n\d, and]+) alone, "
            r"of which (?P<gone>[n\d, and]+) had stopped"
        ),
        without_quorum,
    ),
    (
        (
            r"(?P<nodes>n\d+(?:(?:, | and )n\d+)*) fell behind earlier, (?:"
            rf"at {WHEN}|when #(?P<by>\d+) (?P<struck>[\w-]+) struck (?:it|them), at (?P<struck_at>[\d.]+) s)"
        ),
        fell_behind,
    ),
    (rf"(?P<node>n\d+) answered “(?P<said>[^”]*)” at {WHEN}", answered),
    (r"(?P<least>At least )?(?P<count>[\d,]+) violations, this the first", counted),
    (
        (
            r"Look (?:in the charts )?at (?P<node>n\d+), whose log ended at (?P<end>[\d,]+) by (?P<at>[\d.]+) s, "
            r"though (?P<committed>[\d,]+) had been committed there"
        ),
        first_short,
    ),
    (
        r"Look at replica progress in the charts around (?P<at>[\d.]+) s, (?P<nodes>n\d+(?:, n\d+)*) first",
        first_behind,
    ),
    (
        (
            r"ledger (?P<key>l\d+): (?P<value>\d+) was acknowledged with id (?P<id>\d+) \(the window of "
            rf"{PROCESS.format('adder')}\), and no replica has it for the last read of {PROCESS.format('reader')}"
        ),
        unreadable,
    ),
    (
        (
            r"process (?P<adder>\d+) on (?P<adder_node>n\d+) added (?P<element>\d+) and was answered (?P<answered>\d+) "
            r"\((?P<from>[\d.]+)–(?P<to>[\d.]+) s\) on set, acknowledged\. But process (?P<reader>\d+) "
            r"on (?P<node>n\d+) began a read at (?P<began>[\d.]+) s that did not see (?P<unseen>\d+)"
            r"(?:: a lost element)?"
            r"(?=.*Reads answered by (?P<holding>.*) then or later hold it)"
        ),
        lost,
    ),
    (
        (
            r"(?:once|(?P<times>\d+) times) '(?P<words>[^']+)' on (?P<nodes>n\d+(?:, n\d+)*) \([^)]*\); "
            rf"first seen at {WHEN}"
        ),
        alarms,
    ),
    (
        (
            r"(?P<node>n\d+) logged (?P<times>[\d,]+) times "
            r"(?:from|at) (?P<from>[\d.]+) s(?:, (?P<off>[\d.]+) s (?P<way>into|after) #(?P<id>\d+) (?P<fault>[\w-]+)"
            r"(?: was healed)?,|, before any fault,)?(?: to (?P<to>[\d.]+) s)?(?:, (?P<rate>[\d,]+) a second)?"
            r"(?:: (?P<line>.*?))?\.?$"
        ),
        repeated,
    ),
    (
        (
            rf"No operation succeeded for (?P<length>[\d.]+) s, from {WHEN}, to (?P<stop>[\d.]+) s(?:, nor for "
            r"(?P<others>[\d.]+) s in (?:another outage from (?P<other>[\d.]+) s|(?P<many>\d+) further outages))?, "
            r"though clients asked"
        ),
        outages,
    ),
    (
        (
            r"(?P<many>\d+) changes expected epoch (?P<epoch>\d+), of which at most one can be granted, as epoch "
            r"(?P<next>\d+); none expected epoch (?P<none>\d+); and yet the epoch was (?P<then>\d+)\. In full"
        ),
        granted_twice,
    ),
    (
        r"epoch (?P<epoch>\d+) was seen by process (?P<process>\d+), and no change that expects (?P<none>\d+) was",
        epoch_skipped,
    ),
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
            r"(?P<onset>[\d.]+) s, (?P<since>[\d.]+) from then (?:to the last at (?P<stop>[\d.]+) s|"
            r"until the load\'s last operation was begun at (?P<until>[\d.]+) s)"
        ),
        rates,
    ),
    (
        (
            r"(?P<new>\d+|[Nn]o) new leaders? since (?P<onset>[\d.]+) s(?P<just> \([^)]*\))?, "
            r"at the end (?P<node>n\d+) led"
        ),
        elected,
    ),
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
    return [*(f"{one.text} {one.detail}".strip() for one in found.breaks), found.after, found.step, outage]


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


@pytest.mark.nightly
@pytest.mark.parametrize("name", RUNS)
def test_a_number_that_is_wrong_is_noticed(runs: dict[str, Path], name: str) -> None:
    """Each number of each story with another last digit."""
    raw, sentences = Raw(runs[name]), story(runs[name])
    for sentence in sentences:
        unchecked(raw, sentence)
    confirmed = dict(raw.confirmed)
    for sentence in sentences:
        plain = NAME.sub(lambda found: "x" * len(found[0]), sentence)
        for figure in re.finditer(r"(?<!\w)\d[\d.,]*", plain):
            last = figure.start() + len(figure[0].rstrip(".,")) - 1
            other = f"{sentence[:last]}{(int(sentence[last]) + 5) % 10}{sentence[last + 1 :]}"
            raw.confirmed = dict(confirmed)
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


def test_how_often_a_replica_logged_what_it_is_stuck_at_is_counted(runs: dict[str, Path], tmp_path: Path) -> None:
    """Lines that differ in their numbers, beside others, when it stopped."""
    root = tmp_path / "run"
    shutil.copytree(runs["replica-behind"], root)
    raw = Raw(root)
    started = datetime.fromisoformat(raw.header["started"])

    def lines(text: str, times: int, after: float) -> str:
        moments = [started + timedelta(seconds=after + place / 1000) for place in range(times)]
        return "".join(f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} WARN {text}\n" for at in moments)

    early = lines("other", 150, 3) + lines("pushed 7 behind 9", 180, 30.5) + lines("reset 5", 120, raw.end - 4)
    (root / "nodes" / "n3").mkdir(parents=True)
    (root / "nodes" / "n3" / "server.log").write_text(early)
    sentences = story(root)
    assert any("n3 logged 180 times from 30.5 s to 30.7 s: WARN pushed 7 behind 9." in one for one in sentences)
    assert "Read what n3 logged 180 times from 30.5 s to 30.7 s" in sentences
    assert not any("reset" in one for one in sentences), "no section shows that"
    assert [unchecked(raw, one) for one in sentences] == [[] for _ in sentences]
    with pytest.raises(AssertionError):
        unchecked(raw, sentences[0].replace("180 times", "181 times"))


def test_times_without_any_success_are_counted_to_their_ends(runs: dict[str, Path], tmp_path: Path) -> None:
    root = tmp_path / "run"
    shutil.copytree(runs["replica-behind"], root)
    history = root / "history.jsonl"
    events = [json.loads(line) for line in history.read_text().splitlines()]
    for event in events[1:]:
        if (
            event["type"] == "ok"
            and event["process"] != "nemesis"
            and (6 * S < event["time"] < 17 * S or 31 * S < event["time"] < 45 * S)
        ):
            event["type"] = "info"
    history.write_text("".join(json.dumps(event) + "\n" for event in events))
    raw, (*_, outage) = Raw(root), story(root)
    assert re.match(
        r"No operation succeeded for 1\d\.\d s, from .* s in another outage from \d\.\d s, though clients asked\.",
        outage,
    )
    raw.confirmed["29.3"] = 29.3
    assert unchecked(raw, outage) == []
