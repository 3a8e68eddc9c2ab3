"""Claims of the story on top of a page about nodes, logs and clients, each checked by the raw files alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise

from tests.support.reports.raw import Raw, S

WHEN = (
    r"(?P<at>\d+\.\d) s(?:, (?P<off>\d+\.\d) s (?P<rel>into|after the healing of|after) #(?P<id>\d+) (?P<fault>[\w-]+)"
    r"(?: was healed| began)?)?"
)
DATED = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{3}))?(?:Z|\+0000)?\s*(.*)")
Claim = Callable[[Raw, re.Match[str]], None]


def close(text: str, value: float, room: float = 0.06) -> bool:
    return abs(float(text) - value) <= room


def number(text: str) -> int:
    return int(text.replace(",", ""))


def assert_placed(raw: Raw, match: re.Match[str], moment: float) -> None:
    """The moment is this one, and lies in or after the fault as is said."""
    assert close(match["at"], moment), (match["at"], moment)
    raw.confirmed[match["at"]] = moment
    if match["id"] is None:
        return
    name, began, healed = raw.fault(int(match["id"]))
    assert name == match["fault"]
    healing = raw.healing(int(match["id"]))
    since, until = {
        "into": (began, healing), "after the healing of": (healing, healed), "after": (healed, float("inf"))
    }[match["rel"]]  # fmt: skip
    assert close(match["off"], moment - since, 0.11)
    assert since <= moment <= until


# -- logs and replicas ------------------------------------------------------------------------------------------------


def deleted(raw: Raw, match: re.Match[str]) -> None:
    falls = raw.falls()
    assert match["node"] == falls[0][1]
    assert_placed(raw, match, falls[0][0])


def gone(raw: Raw) -> int:
    """The highest index that a node had said to be committed when its log was seen to end before."""
    highest: dict[tuple[str, int], int] = {}
    found = [-1]
    for probe in raw.answers:
        process = probe["node"], probe["pid"]
        highest[process] = max(highest.get(process, -1), probe["committed"])
        found += [highest[process]] if probe["ledger_end"] < highest[process] else []
    return max(found)


def short_logs(raw: Raw, match: re.Match[str]) -> None:
    index = number(match["index"])
    assert index == gone(raw)
    ends = {node: raw.of(node)[-1]["ledger_end"] for node in raw.nodes}
    short = {node: number(end) for node, end in re.findall(r"(n\d+) at ([\d,]*\d)", match[0])}
    assert short == {node: end for node, end in ends.items() if end < index}
    there = sorted(ends.keys() - short.keys())
    assert re.findall(r"n\d+", match["there"]) == there
    late = [node for node in there if raw.of(node)[-1]["applied"] < number(match["index"])]
    said = there if match["late"] == "they" else re.findall(r"n\d+", match["late"] or "")
    assert said == late


def led_without(raw: Raw, match: re.Match[str]) -> None:
    """The node leads by its last answer, and its log is too short by it; the moment is of the start of that term."""
    last, highest = raw.of(match["node"])[-1], max(probe["committed"] for probe in raw.answers)
    assert last["role"] == "leader"
    assert last["ledger_end"] < highest
    led = [one["time"] / S for one in raw.of(match["node"]) if (one["role"], one["term"]) == ("leader", last["term"])]
    at = min(led, key=lambda moment: abs(moment - float(match["at"])))
    assert at < led[0] + 1
    assert_placed(raw, match, at)


def led_with(raw: Raw, match: re.Match[str]) -> None:
    """The node said so of itself in an answer of then, and so much had been committed before it led."""
    led = [one for one in raw.of(match["node"]) if one["role"] == "leader"]
    probe = min(led, key=lambda one: abs(one["time"] / S - float(match["at"])))
    assert close(match["at"], probe["time"] / S)
    assert number(match["end"]) == probe["ledger_end"]
    began = min(one["time"] / S for one in raw.of(match["node"]) if one["term"] == probe["term"])
    assert number(match["committed"]) == raw.committed_by(began)


def fewest_logs(raw: Raw, match: re.Match[str]) -> None:
    """Of the moments since a log had lost some, the first at which the fewest logs may have reached all of them."""
    index = gone(raw)

    def may_reach(node: str, moment: int) -> bool:
        before = [probe["ledger_end"] for probe in raw.of(node) if probe["time"] <= moment][-1:]
        after = [probe["ledger_end"] for probe in raw.of(node) if probe["time"] > moment][:1]
        return max(before + after) >= index

    moments = sorted({probe["time"] for probe in raw.answers if probe["time"] / S >= raw.falls()[0][0]})
    held = [[node for node in raw.nodes if may_reach(node, moment)] for moment in moments]
    few = min(held, key=len)
    assert close(match["at"], moments[held.index(few)] / S)
    assert (int(match["some"]), int(match["of"])) == (len(few), len(raw.nodes))
    assert match["names"].split(", ") == few


def no_commits(raw: Raw, match: re.Match[str]) -> None:
    # Nothing was committed when a node learned again, after a restart, what the cluster had committed long before.
    highest = max(probe["committed"] for probe in raw.answers)
    last = min(probe["time"] for probe in raw.answers if probe["committed"] == highest) / S
    assert_placed(raw, match, last)
    assert close(match["later"], raw.end - last)
    up = [node for node in raw.nodes if raw.of(node)[-1]["time"] / S > raw.end - 3]
    assert (int(match["up"]), int(match["of"])) == (len(up), len(raw.nodes))


def stopped(raw: Raw, match: re.Match[str]) -> None:
    # By what had been committed ten seconds before the end: once the load is over, whole replicas apply nothing either.
    highest = max(probe["committed"] for probe in raw.answers)
    held = {node: min(raw.of(node)[-1]["applied"], raw.of(node)[-1]["ledger_end"]) for node in raw.nodes}
    known = max(probe["committed"] for probe in raw.answers if probe["time"] / S < raw.end - 10)
    behind = [node for node in raw.nodes if held[node] < known]
    assert (int(match["some"]), int(match["all"])) == (len(behind), len(raw.nodes))
    moments = [raw.last_rise(node, "applied") for node in behind]
    assert_placed(raw, match, min(moments))
    assert close(match["last"] or match["at"], max(moments))
    reported = {node: number(index) for node, index in re.findall(r"(n\d+) at ([\d,]*\d)", match["stand"])}
    assert reported == {node: held[node] for node in behind}
    assert number(match["target"]) == highest


def fell_behind(raw: Raw, match: re.Match[str]) -> None:
    """Until then nodes held what had been committed a second before, and never again from a second later on."""
    if match["by"]:
        name, began, _ = raw.fault(int(match["by"]))
        assert (match["struck"], match["struck_at"]) == (name, f"{began:.1f}")
        moment = began
    else:
        moment = min((probe["time"] / S for probe in raw.answers), key=lambda one: abs(one - float(match["at"])))
        before = dict(raw.confirmed)
        assert_placed(raw, match, moment)
        raw.confirmed = before  # It is no moment at which anything broke.
    for node in re.findall(r"n\d+", match["nodes"]):
        held = [probe["applied"] for probe in raw.of(node) if probe["time"] / S <= moment + 0.06][-1]
        assert held <= raw.committed_by(moment + 0.06)
        assert held >= raw.committed_by(moment - 1.0)
        later = [probe for probe in raw.of(node) if probe["time"] / S > moment + 1.5]
        assert later
        assert all(probe["applied"] < raw.committed_by(probe["time"] / S - 1.0) for probe in later)


def first_short(raw: Raw, match: re.Match[str]) -> None:
    """The first answer of a node whose log ended before what that node had said to be committed."""
    at, node = raw.falls()[0]
    assert (match["node"], match["at"]) == (node, f"{at:.1f}")
    (probe,) = [one for one in raw.of(node) if one["time"] / S == at]
    known = max(one["committed"] for one in raw.of(node) if one["time"] <= probe["time"] and one["pid"] == probe["pid"])
    assert (number(match["end"]), number(match["committed"])) == (probe["ledger_end"], known)


def first_behind(raw: Raw, match: re.Match[str]) -> None:
    nodes = match["nodes"].split(", ")
    assert close(match["at"], min(raw.last_rise(node, "applied") for node in nodes))


def lines_of(raw: Raw, node: str) -> list[tuple[float, str]]:
    """Each line of a node's logs that has a date: when (s), and what follows the date."""
    started = datetime.fromisoformat(raw.header["started"]).replace(tzinfo=None)
    found = []
    for path in sorted((raw.root / "nodes" / node).glob("*.log*")):
        for line in path.read_text().splitlines():
            if stamp := DATED.match(line):
                moment = datetime.fromisoformat(f"{stamp[1]} {stamp[2]}.{stamp[3] or '000'}")
                found.append(((moment - started).total_seconds(), stamp[4]))
    return found


def alarms(raw: Raw, match: re.Match[str]) -> None:
    """How often a line stands in the logs of all nodes, in those of which, and when it was first logged."""
    found = {node: [at for at, text in lines_of(raw, node) if match["words"] in text] for node in raw.nodes}
    assert sum(map(len, found.values())) == int(match["times"] or "1")
    assert match["nodes"].split(", ") == [node for node, moments in found.items() if moments]
    assert_placed(raw, match, min(at for moments in found.values() for at in moments))


def alarm_before(raw: Raw, match: re.Match[str]) -> None:
    """The first line of a node's log that its check of logs looked for."""
    patterns = [one["pattern"] for one in raw.finding("node-logs")["patterns"]]
    found = [at for at, text in lines_of(raw, match["node"]) if any(one in text for one in patterns)]
    assert close(match["at"], min(found))


def at_snapshots(raw: Raw, match: re.Match[str]) -> None:
    """The last progress of each node is the probe that counts one snapshot more in the same process."""
    stops = re.findall(r"(n\d+) at ([\d,]+) by ([\d.]+) s", match["stops"])
    assert stops
    for node, index, moment in stops:
        moved = raw.last_rise(node, "applied")
        before, after = next((a, b) for a, b in pairwise(raw.of(node)) if b["time"] / S == moved)
        assert (before["pid"], before["snapshots_loaded"] + 1) == (after["pid"], after["snapshots_loaded"])
        assert close(moment, moved)
        assert number(index) == after["applied"] == raw.of(node)[-1]["applied"]


def without_quorum(raw: Raw, match: re.Match[str]) -> None:
    """By the packets that the fault dropped, and what the nodes said of themselves while it stood."""
    name, began, _ = raw.fault(int(match["id"]))
    healing = raw.healing(int(match["id"]))
    assert name == match["fault"]
    (receipt,) = [one for one in raw.results["receipts"] if one["id"] == int(match["id"])]
    cut = {(node, peer) for node, peers in receipt["targets"]["grudge"].items() for peer in peers}
    leader = match["leader"]
    peers = [one for one in raw.nodes if one != leader and not {(leader, one), (one, leader)} & cut]
    assert re.findall(r"n\d+", match["reached"]) == peers
    gone = [one for one in peers if raw.last_rise(one, "applied") < began]
    assert re.findall(r"n\d+", match["gone"]) == gone
    assert 1 + len(peers) >= 3 > 1 + len(peers) - len(gone)
    during = [one for one in raw.answers if began + 1.5 < one["time"] / S < healing]
    assert {one["node"] for one in during if one["role"] == "leader"} == {leader}
    assert len({one["committed"] for one in during if one["node"] == leader}) == 1
    assert not [at for at in raw.served() if began + 1.5 < at < healing]


def repeated(raw: Raw, match: re.Match[str]) -> None:
    """How often a node logged a line, but for the numbers in it, when for the first time and when for the last."""
    lines = [(at, " ".join(text.split()).rstrip(".")) for at, text in lines_of(raw, match["node"])]
    shapes = {_shape(text) for _, text in lines}
    if match["line"]:
        dated = DATED.match(match["line"])
        quoted = (dated[4] if dated else match["line"]).rstrip(" …")
        if match["line"].endswith("…"):
            lines = [(at, text[: len(quoted)]) for at, text in lines]
        shapes = {_shape(quoted)}
    assert any(
        len(mine) == number(match["times"])
        and close(match["from"], mine[0][0])
        and close(match["to"] or match["from"], mine[-1][0])
        and (not match["line"] or mine[0][1] == quoted)
        and (not match["rate"] or close(match["rate"].replace(",", ""), len(mine) / (mine[-1][0] - mine[0][0]), 0.51))
        and sum(moment - 1 <= at <= moment + 8 for at, _ in mine) >= 100
        for moment in raw.confirmed.values()
        for shape in shapes
        if (mine := sorted(one for one in lines if _shape(one[1]) == shape))
    ), "over the whole run, and also from one second before a replica stopped to eight after"
    if match["id"]:
        fault, began, healed = raw.fault(int(match["id"]))
        since = began if match["way"] == "into" else healed
        assert fault == match["fault"]
        assert close(match["off"], float(match["from"]) - since, 0.11)


def _shape(text: str) -> str:
    return re.sub(r"(?<![A-Za-z0-9])\d+", "#", " ".join(text.split()))


# -- what came then ---------------------------------------------------------------------------------------------------


def rates(raw: Raw, match: re.Match[str]) -> None:
    onset, served, load = raw.confirmed[match["onset"]], raw.served(), raw.asked(final=False)
    assert close(match["before"], sum(at < onset for at in served) / (onset - load[0]))
    stop = load[-1]
    if match["stop"]:
        stop = max(served)
        assert close(match["stop"], stop)
        assert stop < load[-1] - 5
    assert close(match["since"], sum(onset <= at <= stop for at in served) / (stop - onset))
    assert close(match["from"], load[0])
    assert match["stop"] or close(match["until"], load[-1])


def elected(raw: Raw, match: re.Match[str]) -> None:
    onset = raw.confirmed[match["onset"]]
    assert onset == min(raw.confirmed.values()), "what broke first"
    leading = [probe for probe in raw.answers if probe["role"] == "leader"]
    led = {(p["node"], p["term"]) for p in leading if p["time"] / S >= onset}
    led -= {(p["node"], p["term"]) for p in leading if p["time"] / S < onset}
    assert (0 if match["new"] in ("No", "no") else int(match["new"])) == len(led)
    firsts: dict[tuple[str, int], float] = {}
    for probe in sorted(leading, key=lambda one: one["time"]):
        firsts.setdefault((probe["node"], probe["term"]), probe["time"] / S)
    # The first leadership of a run began with it.
    begun = [(node, at) for (node, _), at in list(firsts.items())[1:] if onset - 2 <= at < onset]
    said = re.findall(r"(n\d+) was first seen to lead at ([\d.]+) s", match["just"] or "")
    assert [node for node, _ in said] == [node for node, _ in begun]
    assert all(close(moment, at) for (_, moment), (_, at) in zip(said, begun, strict=True))
    assert match["node"] == max(leading, key=lambda p: (p["term"], p["time"]))["node"]


def unserved(raw: Raw, match: re.Match[str]) -> None:
    assert close(match["since"], max(raw.served()))
    assert close(match["until"], max(raw.asked(final=True)))


def pauses(waited: list[tuple[float, float]], start: float, stop: float) -> bool:
    """Whether between two moments clients waited for nothing for more than five seconds."""
    until = start
    for begin, end in waited:
        if begin >= stop:
            break
        if end > until:
            if begin - until > 5:
                return True
            until = end
    return stop - until > 5


def outages(raw: Raw, match: re.Match[str]) -> None:
    """The longest time in which clients asked and nothing succeeded, and how long all others of them were together."""
    moments = [min(raw.asked(final=True)), *sorted(raw.served())]
    waited = sorted((one["begin"], one["end"] or raw.end) for one in raw.operations())
    long = [(at, later) for at, later in pairwise(moments) if later - at >= 10]
    every = [(at, later) for at, later in long if not pauses(waited, at, later)]
    asked = [(min(max(at, begin) for begin, end in waited if end > at), later) for at, later in every]
    gaps = [(later - at, at, later) for at, later in asked if later - at >= 10]
    length, start, stop = max(gaps)
    assert close(match["length"], length)
    assert close(match["stop"], stop)
    assert_placed(raw, match, start)
    assert close(match["others"] or "0", sum(gap for gap, *_ in gaps) - length, 0.11)
    assert int(match["many"] or ("1" if match["others"] else "0")) == len(gaps) - 1
    if match["other"]:
        assert [close(match["other"], begin) for _, begin, _ in gaps].count(True) == 1
        assert not close(match["other"], start)
